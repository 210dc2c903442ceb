/**
 * Counts events of a day against the limits of their account and customer, in the statement that accepts or releases
 * them: as many run as the limits allow, whichever nodes count at once and whenever one dies.
 */
import type { EventAllowance } from "../../../actors/ports/event/EventJournal.js"
import { resentEvents } from "../journal/AcceptedChanges.js"
import { noRows, ofUnits, recordset, rowsPart } from "../journal/FlushPart.js"

/** The columns of an event that is counted. `nth`: its place in the order in which the events are counted. */
const allowanceColumns = {
  id: "text",
  account: "text",
  nth: "int",
  units: "int",
  day: "timestamptz",
  account_limit: "int",
  customer: "text",
  customer_limit: "int"
} as const

/** The row of an event that is counted. */
export const allowanceRow = (
  id: string,
  nth: number,
  { accountId, accountLimit, customerId, customerLimit, day, units }: EventAllowance
): { readonly [column in keyof typeof allowanceColumns]: unknown } => ({
  id,
  account: accountId,
  nth,
  units,
  day: new Date(day).toISOString(),
  account_limit: accountLimit,
  customer: customerId,
  customer_limit: customerLimit
})

/** The counters of an event: that of the account, and that of its customer, if it has a limit of its own. */
export const countersOf = ({ accountId, accountLimit, customerId, customerLimit, day }: EventAllowance) => [
  ...(accountLimit === null ? [] : [{ org: accountId, bucket: "starts", day }]),
  ...(customerLimit === null ? [] : [{ org: accountId, bucket: `starts|${customerId}`, day }])
]

/** Makes sure that counters exist, since only rows can be locked. `$1`: their JSON. */
export const openCountersSql = `INSERT INTO rate_windows (org, bucket, minute, granted)
  SELECT t.org, t.bucket, to_timestamp(t.day / 1000.0), 0 FROM json_to_recordset($1::json) AS t(org text, bucket text, day float8)
  ON CONFLICT DO NOTHING`

/** The rows of events that are counted. `parameter`: their JSON. */
export const allowances = (parameter: string): string => recordset(parameter, allowanceColumns)

/**
 * CTEs that decide which events run. `counted`: selects their rows. `decided` has one row for each, with `runs`. The
 * counters are locked in one order before they are read, and a counter that does not exist allows nothing. An event
 * beyond its customer's limit takes no place of its account. One beyond the account's takes none of its customer: then no
 * later one of the account runs either.
 */
export const decideCtes = (counted: string): ReadonlyArray<string> => [
  `counted AS MATERIALIZED (${counted})`,
  `counters AS MATERIALIZED (
    SELECT w.org, w.bucket, w.minute, w.granted FROM rate_windows w
    WHERE (w.org, w.bucket, w.minute) IN (
      SELECT c.account, 'starts', c.day FROM counted c WHERE c.account_limit IS NOT NULL
      UNION SELECT c.account, 'starts|' || c.customer, c.day FROM counted c WHERE c.customer_limit IS NOT NULL)
    ORDER BY w.org, w.bucket, w.minute FOR UPDATE OF w)`,
  `within AS (
    SELECT c.*, c.customer_limit IS NULL OR COALESCE(w.granted, c.customer_limit)
      + sum(c.units) OVER (PARTITION BY c.account, c.customer, c.day ORDER BY c.nth) <= c.customer_limit AS fits
    FROM counted c LEFT JOIN counters w ON w.org = c.account AND w.bucket = 'starts|' || c.customer AND w.minute = c.day)`,
  `decided AS MATERIALIZED (
    SELECT i.*, i.fits AND (i.account_limit IS NULL OR COALESCE(w.granted, i.account_limit)
      + COALESCE(sum(i.units) FILTER (WHERE i.fits) OVER (PARTITION BY i.account, i.day ORDER BY i.nth), 0) <= i.account_limit) AS runs
    FROM within i LEFT JOIN counters w ON w.org = i.account AND w.bucket = 'starts' AND w.minute = i.day)`,
  `charged AS (
    UPDATE rate_windows w SET granted = w.granted + u.used FROM (
      SELECT d.account, 'starts' AS bucket, d.day, sum(d.units)::int AS used FROM decided d WHERE d.runs AND d.account_limit IS NOT NULL GROUP BY 1, 3
      UNION ALL
      SELECT d.account, 'starts|' || d.customer, d.day, sum(d.units)::int FROM decided d WHERE d.runs AND d.customer_limit IS NOT NULL GROUP BY 1, 2, 3
    ) u WHERE w.org = u.account AND w.bucket = u.bucket AND w.minute = u.day)`
]

/** The rows `beyond`: events of a flush that it holds. */
export const isBeyond = "t.id IN (SELECT beyond.id FROM beyond)"

/** Decides which received events are within their allowances, unless an earlier try of the batch wrote them. */
export const quotas = rowsPart({
  columns: allowanceColumns,
  from: ofUnits,
  rows: ({ unit: { event } }, nth) =>
    event?.receives?.allowance === undefined
      ? noRows
      : [allowanceRow(event.receives.event.id, nth, event.receives.allowance)],
  text: (t, has) => [
    ...decideCtes(`SELECT t.* FROM ${t} WHERE t.id IN (SELECT ok.id FROM ok)
    ${has(resentEvents) ? "AND t.id <> ALL (ARRAY(SELECT e.id FROM events e WHERE e.id = ANY (ARRAY(SELECT id FROM ch))))" : ""}`),
    "beyond AS MATERIALIZED (SELECT d.id FROM decided d WHERE NOT d.runs)"
  ]
})
