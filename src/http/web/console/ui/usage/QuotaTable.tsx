/** What is used of each limit, by the organisation or one customer. */
import { useRead } from "../../api/Reads.js"
import { Card } from "../Page.js"
import { Guard, Loaded } from "../States.js"
import { Table } from "../Table.js"
import { Time } from "../Time.js"

export const QuotaTable = ({ customerId }: { readonly customerId?: string }) => (
  <Guard permission="settings:read">
    <Rows {...(customerId === undefined ? {} : { customerId })} />
  </Guard>
)

const Rows = ({ customerId }: { readonly customerId?: string }) => {
  const found = useRead(
    "/api/v1/quota/usage",
    { params: { query: customerId === undefined ? {} : { customer_id: customerId } } },
    { every: 15_000 }
  )
  return (
    <Loaded of={found} what="the quotas">
      {({ data }) => (
        <Card flush>
          <Table
            label="Use of the quotas"
            rows={data}
            keyOf={({ dimension, scope }) => `${scope} ${dimension}`}
            columns={[
              { name: "Quota", of: ({ dimension }) => dimension.replaceAll("_", " ") },
              { name: "Of", of: ({ scope }) => scope },
              { name: "Used", isNumber: true, of: ({ used }) => used.toLocaleString() },
              { name: "Limit", isNumber: true, of: ({ limit }) => limit?.toLocaleString() ?? "none" },
              {
                name: "Part",
                of: ({ limit, used }) =>
                  limit === null ? (
                    "–"
                  ) : (
                    <meter min={0} max={limit} high={limit * 0.8} value={used} aria-label={`${used} of ${limit}`} />
                  )
              },
              { name: "Begins anew", of: ({ resetAt }) => <Time at={resetAt} never="never" /> }
            ]}
          />
        </Card>
      )}
    </Loaded>
  )
}
