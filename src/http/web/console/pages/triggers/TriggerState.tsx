/** How a trigger stands: its address or subscription, when it fires next, and its routes. */
import { Link } from "wouter"
import type { ApiSchemas } from "../../api/Client.js"
import { useRead } from "../../api/Reads.js"
import { CopyText } from "../../ui/CopyText.js"
import { Card, Facts } from "../../ui/Page.js"
import { Loaded } from "../../ui/States.js"
import { Table } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"
import { Subscriptions } from "./Subscriptions.js"

interface OfOne {
  readonly trigger: ApiSchemas["Trigger"]
}

export const TriggerState = ({ trigger }: OfOne) => {
  const { appEvent, schedule, stats, webhook } = trigger
  return (
    <div className="stack">
      <Card title="State">
        <Facts
          facts={[
            ["Id", <CopyText key="id" text={trigger.id} />],
            ["Type", trigger.type.replaceAll("_", " ")],
            ...(trigger.description === "" ? [] : [["Description", trigger.description] as const]),
            [
              "Customer",
              trigger.customerId === null ? (
                "all customers"
              ) : (
                <Link key="customer" href={`/customers/${trigger.customerId}`}>
                  {trigger.customerId}
                </Link>
              )
            ],
            ["Last fired", <Time key="last" at={stats.lastFiredAt} never="never" />],
            ["Failures in a row", stats.consecutiveFailures],
            ...(webhook === null
              ? []
              : ([
                  ["Address", <CopyText key="url" text={webhook.url} />],
                  [
                    "Who may send",
                    webhook.auth === "public" ? "everybody" : `who has the key ${webhook.accessKeyPrefix ?? ""}…`
                  ]
                ] as const)),
            ...(trigger.event === null ? [] : [["Event", <code key="event">{trigger.event.type}</code>] as const]),
            [
              "Events",
              <Link key="events" href={`/events?trigger_id=${trigger.id}`}>
                Its events
              </Link>
            ]
          ]}
        />
      </Card>
      {appEvent !== null && <Subscriptions trigger={trigger} />}
      {schedule !== null && <Fires trigger={trigger} zone={schedule.timezone} />}
      <Card title="Routes" flush>
        <Table
          label="Routes"
          rows={trigger.routes}
          keyOf={({ id }) => id}
          columns={[
            {
              name: "Workflow",
              of: ({ workflowId }) => <Link href={`/workflows/${workflowId}`}>{workflowId}</Link>
            },
            { name: "Environment", of: ({ environment }) => environment },
            {
              name: "Filter",
              of: ({ filter }) => (filter === null ? "every event" : <code>{JSON.stringify(filter)}</code>)
            }
          ]}
        />
      </Card>
    </div>
  )
}

const shownFires = 5

const Fires = ({ trigger, zone }: OfOne & { readonly zone: string }) => {
  const read = useRead("/api/v1/triggers/{trg}/fires", { params: { path: { trg: trigger.id } } })
  const inZone = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long", timeZone: zone })
  return (
    <Card title={`Next firings, in ${zone}`}>
      {trigger.status !== "active" && (
        <p className="soft">It is disabled: it would fire at these times if it were enabled.</p>
      )}
      <Loaded of={read} what="the next firings">
        {({ data }) =>
          data.length === 0 ? (
            <p className="soft">It does not fire any more.</p>
          ) : (
            <ol className="stack tight">
              {data.slice(0, shownFires).map((at) => (
                <li key={at}>
                  {inZone.format(new Date(at))}{" "}
                  <span className="soft">
                    (<Time at={at} />)
                  </span>
                </li>
              ))}
            </ol>
          )
        }
      </Loaded>
    </Card>
  )
}
