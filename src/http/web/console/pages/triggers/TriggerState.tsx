/** How a trigger stands: its address or subscription, when it fires next, and its routes. */
import { Link } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useRead } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { CopyText } from "../../ui/CopyText.js"
import { Card, Facts } from "../../ui/Page.js"
import { Loaded, Problem } from "../../ui/States.js"
import { Table } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"
import { useToast } from "../../ui/Toasts.js"
import { triggerReads } from "./triggerReads.js"

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
      {appEvent !== null && <Subscription trigger={trigger} />}
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

const Subscription = ({ trigger }: OfOne) => {
  const { appEvent } = trigger
  const tell = useToast()
  const retry = useChange(
    () => bodyOf(client.POST("/api/v1/triggers/{trg}/retry-subscription", { params: { path: { trg: trigger.id } } })),
    { changes: triggerReads, done: () => tell("The subscription is tried again.") }
  )
  if (appEvent === null) return null
  return (
    <Card
      title="Subscription"
      actions={
        <Button needs="workflows:update" isRunning={retry.isRunning} onClick={() => retry.run()}>
          Try it again
        </Button>
      }
    >
      <Facts
        facts={[
          ["State", <Badge key="state" word={appEvent.subscription} />],
          [
            "Connector",
            <Link key="connector" href={`/connectors/${appEvent.connector}`}>
              {appEvent.connector}
            </Link>
          ],
          ["Event", <code key="event">{appEvent.event}</code>],
          [
            "Connection",
            appEvent.connectionId === null ? (
              "all active connections"
            ) : (
              <Link key="connection" href={`/connections/${appEvent.connectionId}`}>
                {appEvent.connectionId}
              </Link>
            )
          ]
        ]}
      />
      <Problem error={retry.error} />
    </Card>
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
