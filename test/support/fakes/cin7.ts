/** Cin7 Core's external API: two headers, lists with `Total` and `Page`, errors in a list. */
import { type FakeRequest, startFake, type Fake, type Reply, slice } from "./Fake.js"

type Item = Record<string, unknown>

const ids = [1, 2, 3, 4, 5].map((n) => `00000000-0000-4000-8000-00000000000${n}`)
const each = (more: (n: number) => Item): ReadonlyArray<Item> =>
  ids.map((ID, n) => ({ ID, Name: `N${n + 1}`, ...more(n + 1) }))

const products = each((n) => ({ SKU: `S${n}`, Status: "Active" }))
const customers = each(() => ({ Currency: "NZD" }))
const stock = each((n) => ({ SKU: `S${n}`, Location: "Main", OnHand: n * 2, Available: n }))
const sales = each((n) => ({ SaleID: ids[n - 1], OrderNumber: `SO-${n}`, Status: "ORDERED", Updated: "2026-11-01" }))
const adjustments = each((n) => ({ TaskID: ids[n - 1], Status: "COMPLETED" }))

const error = (status: number, Exception: string): Reply => ({ status, json: [{ ErrorCode: status, Exception }] })

const paged = (asked: FakeRequest, key: string, items: ReadonlyArray<Item>): Reply => {
  const found = items.filter((item) =>
    ["ID", "Sku"].every((name) => {
      const wanted = asked.query.get(name)
      return wanted === null || wanted === (name === "Sku" ? item["SKU"] : item[name])
    })
  )
  const at = Number(asked.query.get("page") ?? 1)
  const limit = Number(asked.query.get("limit") ?? 100)
  return { json: { Total: found.length, Page: at, [key]: slice(found, (at - 1) * limit, limit).page } }
}

/** A write that is answered with a list of one item. */
const saved = (asked: FakeRequest, key: string, needs: string, like: ReadonlyArray<Item>): Reply => {
  const sent = asked.json()
  if (asked.method === "POST") {
    return sent[needs] === undefined
      ? error(400, `'${needs}' is required`)
      : { json: { Total: 1, Page: 1, [key]: [{ ...sent, ID: "new" }] } }
  }
  const stored = like.find((item) => item["ID"] === sent["ID"])
  return stored === undefined
    ? error(404, "not found")
    : { json: { Total: 1, Page: 1, [key]: [{ ...stored, ...sent }] } }
}

const byId = (asked: FakeRequest, name: string, items: ReadonlyArray<Item>): Reply => {
  const found = items.find((item) => item["ID"] === asked.query.get(name))
  return found === undefined ? error(404, `${name} was not found`) : { json: { ...found, [name]: found["ID"] } }
}

const base = "/ExternalApi/v2"

export const cin7Fake = (): Promise<Fake> =>
  startFake({
    guard: (asked) =>
      asked.headers["api-auth-accountid"] === "account" && asked.headers["api-auth-applicationkey"] === "key"
        ? null
        : error(403, "Incorrect credentials!"),
    routes: {
      [`GET ${base}/me`]: () => ({ json: { Company: "Acme", Currency: "NZD", TimeZone: "Auckland" } }),
      [`GET ${base}/product`]: (asked) => paged(asked, "Products", products),
      [`POST ${base}/product`]: (asked) => saved(asked, "Products", "SKU", products),
      [`PUT ${base}/product`]: (asked) => saved(asked, "Products", "SKU", products),
      [`GET ${base}/ref/productavailability`]: (asked) => paged(asked, "ProductAvailabilityList", stock),
      [`GET ${base}/ref/location`]: (asked) =>
        paged(
          asked,
          "LocationList",
          each(() => ({}))
        ),
      [`GET ${base}/stockadjustmentList`]: (asked) => paged(asked, "StockAdjustmentList", adjustments),
      [`GET ${base}/stockadjustment`]: (asked) => byId(asked, "TaskID", adjustments),
      [`POST ${base}/stockadjustment`]: (asked) => ({ json: { TaskID: ids[0], ...asked.json() } }),
      [`GET ${base}/customer`]: (asked) => paged(asked, "CustomerList", customers),
      [`POST ${base}/customer`]: (asked) => saved(asked, "CustomerList", "Name", customers),
      [`PUT ${base}/customer`]: (asked) => saved(asked, "CustomerList", "Name", customers),
      [`GET ${base}/supplier`]: (asked) => paged(asked, "SupplierList", customers),
      [`GET ${base}/saleList`]: (asked) => paged(asked, "SaleList", sales),
      [`GET ${base}/sale`]: (asked) => byId(asked, "ID", sales),
      [`POST ${base}/sale`]: (asked) => ({ json: { ID: ids[0], ...asked.json() } }),
      [`PUT ${base}/sale`]: (asked) => ({ json: { ...asked.json() } }),
      [`DELETE ${base}/sale`]: (asked) => ({
        json: { ID: asked.query.get("ID"), Status: asked.query.get("Void") === "true" ? "VOIDED" : "DRAFT" }
      }),
      [`POST ${base}/sale/order`]: (asked) => ({ json: { ...asked.json() } }),
      [`GET ${base}/sale/fulfilment`]: (asked) =>
        byId(
          asked,
          "SaleID",
          each(() => ({ Fulfilments: [] }))
        ),
      [`GET ${base}/purchaseList`]: (asked) => paged(asked, "PurchaseList", sales),
      [`GET ${base}/purchase`]: (asked) =>
        asked.query.get("ID") === ids[0]
          ? error(400, "This endpoint is deprecated and does not support Advanced Purchase and Service Purchase.")
          : byId(asked, "ID", sales),
      [`GET ${base}/advanced-purchase`]: (asked) => byId(asked, "ID", sales),
      [`GET ${base}/webhooks`]: () => ({ json: { Webhooks: [{ ID: "w1", Type: "Sale/Created" }] } }),
      [`POST ${base}/webhooks`]: (asked) =>
        asked.json()["ExternalAuthorizationType"] === "bearerauth" && asked.json()["ExternalBearerToken"] === undefined
          ? error(400, "ExternalBearerToken is required")
          : { json: { ID: "w2", ...asked.json() } },
      [`DELETE ${base}/webhooks`]: () => ({ status: 204 })
    }
  })
