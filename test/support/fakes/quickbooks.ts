/** QuickBooks Online: queries with STARTPOSITION and MAXRESULTS, sparse updates under a SyncToken, replays by requestid. */
import { type FakeRequest, startFake, type Fake, type Reply } from "./Fake.js"

type Item = Record<string, unknown>

const names = ["Customer", "Item", "Invoice", "Payment", "Bill", "Vendor", "Account"] as const

const times = (n: number) => ({
  MetaData: { CreateTime: `2026-10-0${n}T09:00:00Z`, LastUpdatedTime: `2026-11-0${n}T09:00:00Z` }
})

const records: Readonly<Record<string, ReadonlyArray<Item>>> = Object.fromEntries(
  names.map((name) => [
    name,
    [1, 2, 3, 4, 5].map((n) => ({
      Id: String(n),
      SyncToken: "0",
      Name: `${name} ${n}`,
      Active: n < 5,
      Balance: 0,
      ...times(n)
    }))
  ])
)

const fault = (status: number, code: string, Message: string, Detail: string): Reply => ({
  status,
  json: {
    Fault: { Error: [{ Message, Detail, code }], type: "ValidationFault" },
    time: "2026-11-21T07:00:00.000-08:00"
  }
})

/** `where MetaData.LastUpdatedTime > '…' and MetaData.CreateTime > '…' orderby Id`. */
const timeFilter = /where MetaData\.LastUpdatedTime > '([^']*)' and MetaData\.CreateTime > '([^']*)' orderby Id /

const query = /^select \* from (\w+)\s+(?:where (\w+) = (\w+)\s+)?startposition (\d+) maxresults (\d+)$/i

const queried = (asked: FakeRequest): Reply => {
  const text = asked.query.get("query") ?? ""
  const [, modified = "", created = ""] = timeFilter.exec(text) ?? []
  const [, name = "", member, value, start, most] = query.exec(text.replace(timeFilter, "").replace(/\s+/g, " ")) ?? []
  const all = records[name]
  if (all === undefined) return fault(400, "4000", "Error parsing query", `QueryParserError: ${text}`)
  const found = all.filter((item) => {
    const { CreateTime, LastUpdatedTime } = item["MetaData"] as Readonly<Record<string, string>>
    const isAfter = String(LastUpdatedTime) > modified && String(CreateTime) > created
    return isAfter && (member === undefined || String(item[member]) === value)
  })
  const from = Number(start) - 1
  const page = found.slice(from, from + Number(most))
  return {
    json: { QueryResponse: page.length === 0 ? {} : { [name]: page, startPosition: from + 1, maxResults: page.length } }
  }
}

const nameOf = (asked: FakeRequest): string =>
  names.find((name) => name.toLowerCase() === asked.params["kind"]) ?? "Unknown"

const written = (asked: FakeRequest): Reply => {
  const name = nameOf(asked)
  const sent = asked.json()
  if (sent["Id"] === undefined) {
    return name === "Item" && sent["Name"] === undefined
      ? fault(400, "2020", "Required param missing", "Required parameter Name is missing in the request")
      : { json: { [name]: { Id: "99", SyncToken: "0", ...sent }, time: "2026-11-21T07:00:00.000-08:00" } }
  }
  const stored = records[name]?.find((item) => item["Id"] === sent["Id"])
  if (stored === undefined) return fault(400, "610", "Object Not Found", `Object Not Found : ${String(sent["Id"])}`)
  if (stored["SyncToken"] !== sent["SyncToken"]) {
    return fault(400, "5010", "Stale Object Error", "Stale Object Error : You and another user were working on this")
  }
  if (asked.query.get("operation") === "delete") {
    return { json: { [name]: { domain: "QBO", status: "Deleted", Id: sent["Id"] } } }
  }
  const partial = ["Customer", "Invoice", "Vendor"].includes(name)
  if (partial !== (sent["sparse"] === true))
    return fault(400, "2500", "Not sparse", "What is not named would be cleared")
  return { json: { [name]: { ...(partial ? stored : {}), ...sent, SyncToken: "1" } } }
}

export const quickbooksFake = (): Promise<Fake> => {
  const replies = new Map<string, Reply>()
  const once = (asked: FakeRequest, answer: (asked: FakeRequest) => Reply): Reply => {
    const id = asked.query.get("requestid") ?? ""
    if (id === "" || id.length > 50) return fault(400, "2010", "Request has invalid property", "requestid")
    const reply = replies.get(`${asked.path} ${id}`) ?? answer(asked)
    replies.set(`${asked.path} ${id}`, reply)
    return reply
  }
  const company = "/v3/company/4620816365"
  return startFake({
    guard: (asked) => {
      if (asked.query.get("minorversion") !== "75") return fault(400, "1", "minorversion", "minorversion")
      if (asked.headers.authorization !== "Bearer token") {
        const error = [{ message: "message=AuthenticationFailed; errorCode=003200; statusCode=401", code: "3200" }]
        return { status: 401, json: { fault: { error, type: "AUTHENTICATION" } } }
      }
      return asked.headers.accept === "application/json" ? null : { status: 200, text: "<IntuitResponse/>" }
    },
    routes: {
      [`GET ${company}/query`]: queried,
      [`GET ${company}/companyinfo/:id`]: (asked) => ({
        json: { CompanyInfo: { Id: asked.params["id"], CompanyName: "Acme", Country: "US" } }
      }),
      [`GET ${company}/:kind/:id`]: (asked) => {
        const name = nameOf(asked)
        const found = records[name]?.find((item) => item["Id"] === asked.params["id"])
        return found === undefined
          ? fault(
              400,
              "610",
              "Object Not Found",
              `Object Not Found : Something you're trying to use has been made inactive`
            )
          : { json: { [name]: found } }
      },
      [`POST ${company}/invoice/:id/send`]: (asked) =>
        once(asked, () =>
          asked.body === "" && asked.headers["content-type"] === "application/octet-stream"
            ? { json: { Invoice: { ...records["Invoice"]?.[0], EmailStatus: "EmailSent" } } }
            : fault(400, "2010", "Request has invalid or unsupported property", "body")
        ),
      [`POST ${company}/:kind`]: (asked) => once(asked, written)
    }
  })
}
