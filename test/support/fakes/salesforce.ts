/**
 * Salesforce's REST API: lists are queries in SOQL with pages of 200 to 2,000 records behind `nextRecordsUrl`; a creation
 * answers an id, a change nothing; errors are lists; duplicates are refused by the account's rules.
 */
import { type Fake, type FakeRequest, type Reply, startFake } from "./Fake.js"

type Row = Record<string, unknown>

const base = "/services/data/v65.0"
const prefixes: Readonly<Record<string, string>> = {
  Account: "001",
  Note: "002",
  Contact: "003",
  User: "005",
  Opportunity: "006",
  Lead: "00Q",
  Task: "00T",
  Event: "00U",
  OpportunityStage: "01J"
}
const required: Readonly<Record<string, ReadonlyArray<string>>> = {
  Account: ["Name"],
  Contact: ["LastName"],
  Lead: ["LastName", "Company"],
  Opportunity: ["Name", "StageName", "CloseDate"],
  Note: ["Title", "ParentId"],
  Event: ["StartDateTime", "EndDateTime"]
}
/** Fields that only Salesforce sets. */
const setBySalesforce = ["Id", "CreatedDate", "SystemModstamp", "IsDeleted", "IsClosed", "IsWon", "LastActivityDate"]
const days = ["CloseDate", "ActivityDate"]
const numbers = ["Amount", "NumberOfEmployees"]
const custom = "Favourite__c"

const refused = (status: number, errorCode: string, message: string, more: Row = {}): Reply => ({
  status,
  json: [{ message, errorCode, ...more }]
})
const notFound = () => refused(404, "NOT_FOUND", "The requested resource does not exist")

export interface SalesforceFake extends Fake {
  readonly rows: (object: string) => ReadonlyArray<Row>
  readonly add: (object: string, fields: Row) => Row
}

export const salesforceFake = async (): Promise<SalesforceFake> => {
  const tables = new Map<string, Array<Row>>()
  const cursors = new Map<
    string,
    { readonly records: ReadonlyArray<Row>; readonly total: number; readonly size: number }
  >()
  let lastId = 0
  let clock = Date.UTC(2026, 9, 1)
  const table = (object: string) => {
    const found = tables.get(object) ?? []
    tables.set(object, found)
    return found
  }
  const stampOf = () => new Date((clock += 60_000)).toISOString().replace("Z", "+0000")
  const derive = (object: string, row: Row) => {
    if (object === "Task") row["IsClosed"] = row["Status"] === "Completed"
    if (object === "Opportunity") {
      row["IsWon"] = row["StageName"] === "Closed Won"
      row["IsClosed"] = String(row["StageName"]).startsWith("Closed")
    }
    if (object === "Task" || object === "Event") {
      const what = String(row["WhatId"] ?? "")
      const opportunity = table("Opportunity").find(({ Id }) => Id === what)
      row["AccountId"] = what.startsWith("001") ? what : (opportunity?.["AccountId"] ?? null)
    }
    return row
  }
  const add: SalesforceFake["add"] = (object, fields) => {
    const at = stampOf()
    const row = derive(object, {
      Id: `${prefixes[object] ?? "a00"}D${String(++lastId).padStart(14, "0")}`,
      CreatedDate: at,
      SystemModstamp: at,
      IsDeleted: false,
      ...(object === "Task" ? { Status: "Not Started", TaskSubtype: "Task" } : {}),
      ...fields
    })
    table(object).push(row)
    return row
  }

  /** What is wrong with the fields of a record, or `undefined`. */
  const mistakeIn = (object: string, fields: Row): Reply | undefined => {
    const own = Object.keys(fields).find(
      (name) => setBySalesforce.includes(name) || (name === "AccountId" && object === "Task")
    )
    if (own !== undefined)
      return refused(
        400,
        "INVALID_FIELD_FOR_INSERT_UPDATE",
        `Unable to create/update fields: ${own}. Please check the security settings of this field.`,
        { fields: [own] }
      )
    const unknown = Object.keys(fields).find((name) => !/^[A-Z]\w*$/.test(name))
    if (unknown !== undefined)
      return refused(400, "INVALID_FIELD", `No such column '${unknown}' on sobject of type ${object}`)
    for (const [name, value] of Object.entries(fields)) {
      if (value === null) continue
      if (days.includes(name) && !/^\d{4}-\d\d-\d\d$/.test(String(value)))
        return refused(400, "JSON_PARSER_ERROR", `Cannot deserialize instance of date from VALUE_STRING value ${value}`)
      if (numbers.includes(name) && typeof value !== "number")
        return refused(
          400,
          "JSON_PARSER_ERROR",
          `Cannot deserialize instance of double from VALUE_STRING value ${value}`
        )
      if (name.endsWith("Id") && !/^[a-zA-Z0-9]{15,18}$/.test(String(value)))
        return refused(400, "MALFORMED_ID", `${name}: id value of incorrect type: ${value}`, { fields: [name] })
    }
    return undefined
  }

  // --- Queries ---

  const shown = (object: string, row: Row, names: ReadonlyArray<string>): Row => ({
    attributes: { type: object, url: `${base}/sobjects/${object}/${row["Id"]}` },
    ...Object.fromEntries(names.map((name) => [name, row[name] ?? null]))
  })
  const relation = (row: Row, text: string): readonly [string, unknown] | undefined => {
    const found = /^TYPEOF (Who|What) WHEN (\w+) THEN Id END$/.exec(text)
    if (found === null) return undefined
    const [, name = "", object = ""] = found
    const id = String(row[`${name}Id`] ?? "")
    return [name, id.startsWith(prefixes[object] ?? "?") ? { attributes: { type: object }, Id: id } : null]
  }
  const query = (asked: FakeRequest): Reply => {
    const q = asked.query.get("q") ?? ""
    const found = /^SELECT (.+?) FROM (\w+)(?: WHERE (.+?))?(?: ORDER BY \w+)?(?: LIMIT \d+)?$/.exec(q)
    if (found === null) return refused(400, "MALFORMED_QUERY", `unexpected token: ${q.slice(0, 40)}`)
    const [, select = "", object = "", where = ""] = found
    const names = select.split(",").map((name) => name.trim())
    const plain = names.filter((name) => !name.startsWith("TYPEOF"))
    const bad = plain.find((name) => !/^[A-Z]\w*$/.test(name) && name !== "FIELDS(STANDARD)" && name !== custom)
    if (bad !== undefined) return refused(400, "INVALID_FIELD", `No such column '${bad}' on entity '${object}'`)
    const rows: Array<Row> = []
    for (const row of table(object)) {
      if (row["IsDeleted"] === true) continue
      const holds = conditionHolds(row, where)
      if (holds === undefined) return refused(400, "MALFORMED_QUERY", `unexpected token in ${where}`)
      if (!holds) continue
      const fields = plain.flatMap((name) => (name === "FIELDS(STANDARD)" ? Object.keys(row) : [name]))
      const relations = names.flatMap((name) => {
        const one = relation(row, name)
        return one === undefined ? [] : [one]
      })
      rows.push({ ...shown(object, row, fields), ...Object.fromEntries(relations) })
    }
    const size = Number(/batchSize=(\d+)/.exec(String(asked.headers["sforce-query-options"] ?? ""))?.[1] ?? 2_000)
    if (size < 200 || size > 2_000) return refused(400, "INVALID_QUERY_LOCATOR", "batchSize is 200 to 2000")
    return page(`01gD${String(cursors.size).padStart(11, "0")}`, { records: rows, total: rows.length, size }, 0)
  }
  const page = (
    locator: string,
    cursor: { records: ReadonlyArray<Row>; total: number; size: number },
    from: number
  ): Reply => {
    cursors.set(locator, cursor)
    const next = from + cursor.size
    const done = next >= cursor.total
    return {
      json: {
        totalSize: cursor.total,
        done,
        ...(done ? {} : { nextRecordsUrl: `${base}/query/${locator}-${next}` }),
        records: cursor.records.slice(from, next)
      }
    }
  }

  const objectOf = (asked: FakeRequest) => asked.params["object"] ?? ""
  const rowOf = (asked: FakeRequest) =>
    table(objectOf(asked)).find(({ Id, IsDeleted }) => Id === asked.params["id"] && IsDeleted !== true)

  const create = (asked: FakeRequest): Reply => {
    const object = objectOf(asked)
    const fields = asked.json()
    const mistake = mistakeIn(object, fields)
    if (mistake !== undefined) return mistake
    const lacking = (required[object] ?? []).filter((name) => fields[name] === undefined || fields[name] === null)
    if (lacking.length > 0)
      return refused(400, "REQUIRED_FIELD_MISSING", `Required fields are missing: [${lacking.join(", ")}]`, {
        fields: lacking
      })
    const isKnown =
      object === "Contact" && table(object).some(({ Email }) => Email !== undefined && Email === fields["Email"])
    if (isKnown && asked.headers["sforce-duplicate-rule-header"] !== "allowSave=true")
      return refused(400, "DUPLICATES_DETECTED", "Use one of these records?", { duplicateResult: { allowSave: true } })
    return { status: 201, json: { id: add(object, fields)["Id"], success: true, errors: [] } }
  }

  add("User", { Name: "Grace Hopper", Email: "Grace@acme.example", IsActive: true })
  for (const [at, name] of ["Prospecting", "Won't close", "Closed Won", "Closed Lost"].entries())
    add("OpportunityStage", { ApiName: name, MasterLabel: name, SortOrder: at + 1, DefaultProbability: at * 25 })
  table("Organization").push({
    Id: "00DD0000000K1xyMAC",
    Name: "Acme",
    OrganizationType: "Enterprise Edition",
    IsSandbox: false
  })

  const fake = await startFake({
    guard: ({ headers }) =>
      headers.authorization === "Bearer 00D!session"
        ? null
        : refused(401, "INVALID_SESSION_ID", "Session expired or invalid"),
    headers: () => ({ "sforce-limit-info": "api-usage=18/15000" }),
    routes: {
      [`GET ${base}/query`]: query,
      [`GET ${base}/query/:locator`]: ({ params }) => {
        const [locator = "", from = ""] = (params["locator"] ?? "").split("-")
        const cursor = cursors.get(locator)
        return cursor === undefined
          ? refused(400, "INVALID_QUERY_LOCATOR", "invalid query locator")
          : page(locator, cursor, Number(from))
      },
      [`GET ${base}/sobjects/:object/describe`]: ({ params }) => ({
        json: {
          name: params["object"],
          fields: [fieldOf("LastName", false), fieldOf("Id", true), fieldOf(custom, false)]
        }
      }),
      [`POST ${base}/sobjects/:object`]: create,
      [`GET ${base}/sobjects/:object/:id`]: (asked) => {
        const row = rowOf(asked)
        const names = asked.query.get("fields")?.split(",") ?? Object.keys(row ?? {})
        return row === undefined ? notFound() : { json: shown(objectOf(asked), row, ["Id", ...names]) }
      },
      [`PATCH ${base}/sobjects/:object/:id`]: (asked) => {
        const row = rowOf(asked)
        if (row === undefined) return notFound()
        const fields = asked.json()
        const mistake = mistakeIn(objectOf(asked), fields)
        if (mistake !== undefined) return mistake
        derive(objectOf(asked), Object.assign(row, fields, { SystemModstamp: stampOf() }))
        return { status: 204 }
      },
      [`DELETE ${base}/sobjects/:object/:id`]: (asked) => {
        const row = rowOf(asked)
        if (row === undefined) return notFound()
        row["IsDeleted"] = true
        return { status: 204 }
      }
    }
  })
  return { ...fake, rows: table, add }
}

/** Whether conditions joined by AND hold; `undefined` if one cannot be read. */
const conditionHolds = (row: Row, where: string): boolean | undefined => {
  if (where === "") return true
  let rest = where
  while (rest !== "") {
    const found = /^(\w+) (=|>=) (?:'((?:[^'\\]|\\.)*)'|([\dTZ:.-]+))(?: AND |$)/.exec(rest)
    if (found === null) return undefined
    const [matched, name = "", operator = "", text, time] = found
    const own = row[name]
    const holds =
      text === undefined
        ? operator === ">=" && Date.parse(String(own).replace("+0000", "Z")) >= Date.parse(time ?? "")
        : operator === "=" && own === text.replace(/\\(.)/g, "$1")
    if (!holds) return false
    rest = rest.slice(matched.length)
  }
  return true
}

const fieldOf = (name: string, isReadOnly: boolean) => ({
  name,
  label: name,
  type: "string",
  nillable: isReadOnly,
  defaultedOnCreate: isReadOnly,
  createable: !isReadOnly,
  updateable: !isReadOnly,
  custom: name.endsWith("__c")
})
