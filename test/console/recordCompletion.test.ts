/** The editor of code completes every call of common records, as the service reads their names. */
import { assert, describe, it } from "@effect/vitest"
import { readRecordCall, recordActions, recordServices } from "../../src/domain/unified/RecordCall.js"
import { recordMembers } from "../../src/http/web/console/editor/Records.js"

const labels = (path: string) => (recordMembers(path) ?? []).map(({ label }) => label)

/** The paths of all calls below a path. */
const callsBelow = (path: string): ReadonlyArray<string> =>
  (recordMembers(path) ?? []).flatMap(({ label, type }) =>
    type === "namespace" ? callsBelow(`${path}.${label}`) : [`${path}.${label}`]
  )

describe("the completion of svc.unified and svc.cdm", () => {
  it("goes from categories to entities to verbs", () => {
    assert.include(labels("svc.unified"), "projectManagement")
    assert.include(labels("svc.unified.messaging"), "directMessage")
    assert.deepStrictEqual(labels("svc.cdm.inventoryLevel").slice(0, 2), ["list", "get"])
    assert.includeMembers([...labels("svc.unified.crm.contact")], ["list", "create", "delete", "pages", "all"])
  })

  it.each(recordServices)("has each call of %s once, by a name that the service reads", (service) => {
    const calls = callsBelow(`svc.${service}`).filter((path) => !/\.(?:pages|all)$/.test(path))
    assert.strictEqual(calls.length, recordActions(service).length)
    for (const path of calls) assert.isObject(readRecordCall(service, path.replace(`svc.${service}.`, "")), path)
  })

  it.each(["svc", "svc.connector", "svc.state", "ctx.unified", "svc.unified.none.contact.list.more"])(
    "has nothing behind %s",
    (path) => {
      assert.deepStrictEqual(recordMembers(path) ?? [], [])
    }
  )
})
