/** Actions of Shopify on stock at locations. */
import {
  args,
  type ActionManifest,
  type EntityManifest,
  flag,
  fromArgs,
  id,
  integer,
  list,
  nullable,
  pairs,
  record,
  text,
  time,
  upTo
} from "../SchemaShorthands.js"

const level = record({ inventory_item_id: id, location_id: id, available: nullable("integer"), updated_at: time })
const location = record({ id, name: text, active: flag, city: nullable("string"), country_code: text })
const twelve = {
  inventory_item_id: 808950810,
  location_id: 655441491,
  available: 12,
  updated_at: "2026-11-01T09:00:00-04:00"
}

export const shopifyStockActions: ReadonlyArray<ActionManifest> = [
  {
    name: "listLocations",
    title: "List locations",
    request: { method: "GET", path: "/locations.json" },
    inputSchema: args(),
    outputSchema: record({ locations: list(location) }, "locations"),
    mocks: [{ name: "one", output: { locations: [{ id: 655441491, name: "Ottawa", active: true }] } }]
  },
  {
    name: "listInventoryLevels",
    title: "List inventory levels",
    description: "Shopify needs inventory_item_ids or location_ids, at most 50 of each.",
    request: {
      method: "GET",
      path: "/inventory_levels.json",
      query: {
        limit: "{{args.limit ?? 250}}",
        ...fromArgs("inventory_item_ids", "location_ids", "updated_at_min")
      },
      queryStyle: "comma"
    },
    pagination: { type: "link", items: "$.inventory_levels" },
    inputSchema: {
      ...args({
        inventory_item_ids: { ...list(id), maxItems: 50 },
        location_ids: { ...list(id), maxItems: 50 },
        limit: upTo(250),
        updated_at_min: time
      }),
      anyOf: [{ required: ["inventory_item_ids"] }, { required: ["location_ids"] }]
    },
    outputSchema: record({ inventory_levels: list(level) }, "inventory_levels"),
    mocks: [{ name: "one", output: { inventory_levels: [twelve] } }]
  },
  {
    name: "setInventoryLevel",
    title: "Set the available stock",
    request: {
      method: "POST",
      path: "/inventory_levels/set.json",
      body: fromArgs("inventory_item_id", "location_id", "available", "disconnect_if_necessary")
    },
    response: { map: "$.inventory_level" },
    inputSchema: args(
      { inventory_item_id: id, location_id: id, available: integer, disconnect_if_necessary: flag },
      "inventory_item_id",
      "location_id",
      "available"
    ),
    outputSchema: level,
    mocks: [{ name: "set", output: twelve }]
  },
  {
    name: "adjustInventoryLevel",
    title: "Adjust the available stock by a number",
    request: {
      method: "POST",
      path: "/inventory_levels/adjust.json",
      body: fromArgs("inventory_item_id", "location_id", "available_adjustment")
    },
    response: { map: "$.inventory_level" },
    inputSchema: args(
      { inventory_item_id: id, location_id: id, available_adjustment: integer },
      "inventory_item_id",
      "location_id",
      "available_adjustment"
    ),
    outputSchema: level,
    mocks: [{ name: "adjusted", output: twelve }]
  }
]

export const inventoryEntity: EntityManifest = {
  name: "inventory_level",
  cdm: "CDMInventoryLevel",
  // Shopify lists the levels of named locations or items only; setting one creates or changes it.
  read: "listInventoryLevels",
  create: "setInventoryLevel",
  args: { read: { limit: "{{query.pageSize}}", updated_at_min: "{{query.modifiedAfter.iso}}" } },
  fields: pairs({
    inventory_item_id: "productId",
    location_id: "locationId",
    available: "available",
    updated_at: "updatedAt"
  })
}
