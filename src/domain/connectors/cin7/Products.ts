/** Actions of Cin7 Core on products, stock and stock adjustments. */
import { type ActionManifest, flag, list, nullable, number, oneOf, record, text, time } from "../SchemaShorthands.js"
import { defineCin7List, defineCin7Read, defineCin7Write } from "./Requests.js"

const product = record(
  {
    ID: text,
    SKU: text,
    Name: text,
    Category: text,
    Brand: nullable("string"),
    Type: text,
    CostingMethod: text,
    UOM: text,
    Status: text,
    Description: nullable("string"),
    Barcode: nullable("string"),
    PriceTier1: number,
    LastModifiedOn: text
  },
  "ID",
  "SKU",
  "Name"
)
const pump = {
  ID: "b2ab0b5b-6f7a-4d0c-8d8e-5d1f6f5a1c11",
  SKU: "PUMP",
  Name: "Pump",
  Category: "Hardware",
  Brand: null,
  Type: "Stock",
  CostingMethod: "FIFO",
  UOM: "Item",
  Status: "Active",
  Description: "A pump",
  Barcode: null,
  PriceTier1: 15,
  LastModifiedOn: "2026-11-01T09:00:00.000Z"
}
const productInput = {
  SKU: text,
  Name: text,
  Category: text,
  Type: oneOf("Stock", "Service", "Non Inventory", "Fixed Asset"),
  CostingMethod: oneOf(
    "FIFO",
    "FIFO - Batch",
    "FIFO - Serial Number",
    "FEFO - Batch",
    "FEFO - Serial Number",
    "Special - Batch",
    "Special - Serial Number"
  ),
  UOM: text,
  Status: oneOf("Active", "Deprecated"),
  Brand: text,
  Description: text,
  ShortDescription: text,
  Barcode: text,
  DefaultLocation: text,
  PriceTiers: { type: "object", additionalProperties: number },
  Sellable: flag
}

/** The members of a product that a change sends again. */
export const productMembers = [...Object.keys(productInput), "PriceTier1"]

const availability = record(
  {
    ID: text,
    SKU: text,
    Name: text,
    Location: text,
    Bin: nullable("string"),
    Batch: nullable("string"),
    OnHand: number,
    Allocated: number,
    Available: number,
    OnOrder: number
  },
  "ID",
  "Available"
)
const stock = {
  ID: pump.ID,
  SKU: "PUMP",
  Name: "Pump",
  Location: "Main Warehouse",
  Bin: null,
  Batch: null,
  OnHand: 12,
  Allocated: 2,
  Available: 10,
  OnOrder: 5
}

const adjustment = record({ TaskID: text, Status: text, EffectiveDate: text }, "TaskID")
const counted = {
  TaskID: "0c0c5a0e-5f6e-4f0e-8ad2-9b7c2a1e0001",
  Status: "COMPLETED",
  EffectiveDate: "2026-11-02T00:00:00Z"
}

export const cin7ProductActions: ReadonlyArray<ActionManifest> = [
  defineCin7List({
    name: "listProducts",
    title: "List products",
    path: "/product",
    items: "Products",
    item: product,
    filters: {
      Name: text,
      Sku: text,
      ModifiedSince: time,
      IncludeDeprecated: flag,
      IncludeBOM: flag,
      IncludeSuppliers: flag
    },
    mock: pump
  }),
  defineCin7Read({
    name: "getProduct",
    title: "Get a product",
    path: "/product",
    key: "ID",
    map: "$.Products[0]",
    item: product,
    mock: pump
  }),
  defineCin7Write({
    name: "createProduct",
    title: "Create a product",
    path: "/product",
    writable: productInput,
    required: ["SKU", "Name", "Category", "Type", "CostingMethod", "UOM", "Status"],
    map: "$.Products[0]",
    item: product,
    mock: pump
  }),
  defineCin7Write({
    name: "updateProduct",
    title: "Change a product",
    method: "PUT",
    path: "/product",
    writable: { ID: text, ...productInput },
    required: ["ID"],
    map: "$.Products[0]",
    item: product,
    mock: pump
  }),
  defineCin7List({
    name: "listAvailability",
    title: "List the stock of products at locations",
    path: "/ref/productavailability",
    items: "ProductAvailabilityList",
    item: availability,
    filters: { ID: text, Name: text, Sku: text, Location: text, Batch: text, Category: text },
    mock: stock
  }),
  defineCin7List({
    name: "listLocations",
    title: "List locations",
    path: "/ref/location",
    items: "LocationList",
    item: record({ ID: text, Name: text, IsDefault: flag }, "ID", "Name"),
    filters: { ID: text, Name: text, Deprecated: flag },
    mock: { ID: "70a64ef1-8a0a-4c24-96b2-ea6b8a3bbf5c", Name: "Main Warehouse", IsDefault: true }
  }),
  defineCin7List({
    name: "listStockAdjustments",
    title: "List stock adjustments",
    path: "/stockadjustmentList",
    items: "StockAdjustmentList",
    item: adjustment,
    filters: { Status: oneOf("DRAFT", "COMPLETED", "VOIDED") },
    mock: counted
  }),
  defineCin7Read({
    name: "getStockAdjustment",
    title: "Get a stock adjustment",
    path: "/stockadjustment",
    key: "TaskID",
    item: adjustment,
    mock: counted
  }),
  defineCin7Write({
    name: "createStockAdjustment",
    title: "Adjust stock",
    path: "/stockadjustment",
    writable: {
      EffectiveDate: time,
      Status: oneOf("DRAFT", "COMPLETED"),
      Account: text,
      Reference: text,
      Comment: text,
      UpdateOnHand: flag,
      Lines: list(
        record({ ProductID: text, SKU: text, Quantity: number, UnitCost: number, Location: text, BatchSN: text })
      )
    },
    required: ["EffectiveDate", "Status", "Lines"],
    item: adjustment,
    mock: counted
  })
]
