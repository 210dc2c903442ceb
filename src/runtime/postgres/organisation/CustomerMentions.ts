/** How deleted customers go from records that name several customers, and what stays of their own. */
import { erasedMembers } from "../../../domain/organisation/Customer.js"
import { columnOf } from "../record/Table.js"
import { days, erasableCustomers, eraseAfter } from "../record/TableRules.js"

const forgetAfter = days(30)

/** What is left of a customer. An empty array of Postgres is written as an empty object of JSON. */
const erasedColumns = Object.entries(erasedMembers)
  .map(([member, value]) => `${columnOf(member)} = ${value === null ? "NULL" : value === "" ? "''" : "'{}'"}`)
  .join(", ")

/** The id stays as a tombstone: records may refer to it. */
export const eraseCustomersSql = [
  `UPDATE customers SET ${erasedColumns}, slug = id, erased_at = now() WHERE deleted_at < now() - ${eraseAfter} AND erased_at IS NULL`,
  `DELETE FROM customers WHERE deleted_at < now() - ${forgetAfter} AND erased_at IS NOT NULL`
]

/** The customers of a person: `[]` means all customers. */
const customersOf = (user: string) => `jsonb_array_elements_text(${user}.customer_ids) AS c (id)`

/** Takes the customers from people. */
export const leaveUsersSql = [
  // A user of these customers only is deleted too: an empty list would mean all customers.
  `DELETE FROM users u WHERE u.customer_ids <> '[]'
     AND NOT EXISTS (SELECT FROM ${customersOf("u")} WHERE c.id NOT IN (${erasableCustomers}))`,
  `UPDATE users u SET version = u.version + 1, updated_at = now(),
     customer_ids = (SELECT jsonb_agg(c.id) FROM ${customersOf("u")} WHERE c.id NOT IN (${erasableCustomers}))
     WHERE EXISTS (SELECT FROM ${customersOf("u")} WHERE c.id IN (${erasableCustomers}))`
]

/** Takes the customers from keys. A key without a customer left is revoked. */
export const leaveKeysSql = [
  `UPDATE api_keys k SET version = k.version + 1, updated_at = now(), customer_ids = kept.ids,
     revoked_at = CASE WHEN kept.ids = '{}' THEN COALESCE(k.revoked_at, now()) ELSE k.revoked_at END
     FROM (SELECT o.id, ARRAY(SELECT c FROM unnest(o.customer_ids) c WHERE c NOT IN (${erasableCustomers})) AS ids
       FROM api_keys o WHERE o.customer_ids && ARRAY(${erasableCustomers})) kept
     WHERE k.id = kept.id`
]
