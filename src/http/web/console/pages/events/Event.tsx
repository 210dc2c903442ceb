/** One event: its payload, why it stands as it does, the runs that it started, and its replay. */
import { useState } from "react"
import { Link, useLocation, useParams } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useRead } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { CopyText } from "../../ui/CopyText.js"
import { FormDialog } from "../../ui/Dialog.js"
import { Select } from "../../ui/Field.js"
import { JsonValue } from "../../ui/JsonValue.js"
import { Card, Facts, Page } from "../../ui/Page.js"
import { Loaded } from "../../ui/States.js"
import { Table } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"

type EventRecord = ApiSchemas["Event"]

/** What a status means, in a sentence. */
const meanings: Readonly<Record<EventRecord["status"], string>> = {
  received: "It is accepted and waits to be routed.",
  held: "It waits, and goes on by itself when the reason is gone.",
  delivered: "It has started its runs.",
  ignored: "No route of an active trigger matches it, so it started nothing.",
  dead: "It was given up: a dead letter keeps it for a replay.",
  duplicate: "It repeats an earlier event, and started nothing.",
  rejected: "It was not accepted."
}

export const Event = () => {
  const { evt = "" } = useParams()
  const found = useRead("/api/v1/events/{evt}", { params: { path: { evt } } })
  const data = found.data?.data
  const [isOpen, setOpen] = useState(false)
  return (
    <Page
      title={data?.type ?? "Event"}
      above={[{ name: "Events", to: "/events" }]}

      beside={data !== undefined && <Badge word={data.status} />}
      actions={
        <Button needs="events:replay" onClick={() => setOpen(true)}>
          Replay
        </Button>
      }
    >
      <Loaded of={found} what="the event">
        {({ data }) => <Parts event={data} />}
      </Loaded>
      {isOpen && <ReplayDialog id={evt} close={() => setOpen(false)} />}
    </Page>
  )
}

const linkTo = (path: string, id: string | null) => (id === null ? "–" : <Link href={`/${path}/${id}`}>{id}</Link>)

const Parts = ({ event }: { readonly event: EventRecord }) => (
  <div className="stack">
    <div className="notice">
      <p>
        {meanings[event.status]}
        {event.reason !== null && ` Reason: ${event.reason.replaceAll("_", " ")}.`}{" "}
        {event.status === "dead" && <Link href="/dead-letters">Dead letters</Link>}
      </p>
    </div>
    {event.warnings.length > 0 && (
      <ul className="notice warn">
        {event.warnings.map(({ message, path }, at) => (
          <li key={at}>
            <code>{path}</code> {message}
          </li>
        ))}
      </ul>
    )}
    <div className="columns">
      <Card title="Event">
        <Facts
          facts={[
            ["Event", <CopyText key="id" text={event.id} />],
            ["Source", event.source.replaceAll("_", " ")],
            ["Trigger", linkTo("triggers", event.triggerId)],
            ["Connection", linkTo("connections", event.connectionId)],
            ["Customer", linkTo("customers", event.customerId)],
            ["Entity", event.entity ?? "–"],
            ["Action", event.action],
            ["Priority", `P${event.priority}`],
            ["Happened", <Time key="happened" at={event.occurredAt} isExact never="not told" />],
            ["Received", <Time key="received" at={event.receivedAt} isExact />],
            ["Settled", <Time key="settled" at={event.settledAt} isExact />],
            ["Tries", event.attempts],
            ["Replay of", linkTo("events", event.replayOf)],
            ["Duplicate of", linkTo("events", event.duplicateOf)],
            [
              "Idempotency key",
              <CopyText key="key" text={event.idempotencyKey} shown={`${event.idempotencyKey.slice(0, 12)}…`} />
            ]
          ]}
        />
      </Card>
      <Card title="Payload">
        <JsonValue name={`${event.id}-payload`} value={event.payload} />
      </Card>
      <Card title="Headers">
        <JsonValue name={`${event.id}-headers`} value={event.headers} />
      </Card>
    </div>
    {event.deliveries.length > 0 && (
      <Card title="Runs" flush>
        <Table
          label="Runs that it started"
          rows={event.deliveries}
          keyOf={({ route }) => route}
          columns={[
            { name: "Route", of: ({ route }) => <code>{route}</code> },
            { name: "Workflow", of: ({ workflowId }) => linkTo("workflows", workflowId) },
            { name: "Run", of: ({ executionId }) => linkTo("runs", executionId) },
            { name: "Status", of: ({ status }) => <Badge word={status} /> }
          ]}
        />
      </Card>
    )}
  </div>
)

const ReplayDialog = ({ close, id }: { readonly id: string; readonly close: () => void }) => {
  const [mode, setMode] = useState("latest")
  const [, go] = useLocation()
  const replay = useChange(
    () =>
      bodyOf(
        client.POST("/api/v1/events/{evt}/replay", {
          params: { path: { evt: id } },
          body: { mode: mode as "same" | "latest" }
        })
      ),
    {
      changes: ["/api/v1/events"],
      done: ({ data }) => {
        close()
        go(`/events/${data.eventId}`)
      }
    }
  )
  return (
    <FormDialog
      title="Replay the event"
      verb="Replay"
      isOpen
      close={close}
      send={() => replay.run()}
      isRunning={replay.isRunning}
      error={replay.error}
    >
      <p>It is accepted again under a new id with the same payload, and starts its runs again.</p>
      <Select
        label="Versions"
        value={mode}
        onChange={setMode}
        options={[
          ["latest", "those that are deployed now"],
          ["same", "those that ran before"]
        ]}
      />
    </FormDialog>
  )
}
