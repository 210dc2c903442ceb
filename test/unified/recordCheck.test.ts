/** Every answer of the unified API in tests is checked against its model: the check finds what is not as the model says. */
import { assert, it } from "@effect/vitest"
import { recordViolation } from "../support/unified/recordCheck.js"

const found = (data: unknown, target = "/api/v1/unified/crm/contact?page_size=2", status = 200) =>
  recordViolation(target, { status, body: { data } })

it.each([
  ["a record without an id", [{ firstName: "Ada" }]],
  ["a member of another type", [{ id: "1", emailAddresses: "ada@example.com" }]],
  ["a number for a text, in the second record", [{ id: "1" }, { id: "2", firstName: 3 }]],
  ["no record", [5]],
  ["one record of another type", { id: 1 }]
])("finds %s", (_, data) => {
  assert.isString(found(data))
})

it("finds nothing where records are as the model says, or where there are none", () => {
  assert.isUndefined(found([{ id: "1", firstName: null, emailAddresses: [] }]))
  assert.isUndefined(found({ id: "1" }, "/api/v1/unified/crm/contact/1"))
  assert.isUndefined(found([{ id: 1 }], "/api/v1/unified/crm/contact", 409))
  assert.isUndefined(found([{ id: 1 }], "/api/v1/customers"))
})
