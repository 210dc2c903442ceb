/** What a change of a polled item is called. */
import { assert, describe, it } from "@effect/vitest"
import { polledType } from "../../src/domain/trigger/Poll.js"

describe("the type of a polled change", () => {
  it.each([
    [{ id: "item" }, "deleted", "shop.item.deleted"],
    [{ id: "item.deleted" }, "deleted", "shop.item.deleted"],
    [{ id: "item.removed" }, "deleted", "shop.item.deleted"],
    [{ id: "item.created" }, "created", "shop.item.created"],
    [{ id: "item.updated" }, "created", "shop.item.created"],
    [{ id: "item.changed" }, "updated", "shop.item.updated"],
    [{ id: "item.line.updated" }, "updated", "shop.item.line.updated"],
    [{ id: "deleted" }, "deleted", "shop.deleted"],
    [{ id: "undeleted" }, "deleted", "shop.undeleted.deleted"],
    [{ id: "item.deleted", entity: "product" }, "deleted", "shop.product.deleted"]
  ] as const)("%o, %s, is %s", (event, action, type) => {
    assert.strictEqual(polledType("shop", event, action), type)
  })
})
