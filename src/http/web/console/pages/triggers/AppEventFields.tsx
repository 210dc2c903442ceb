/** The settings of an app event: which event of which connector, over which connection. */
import { useList, useRead } from "../../api/Reads.js"
import { useMay } from "../../api/Session.js"
import { JsonField } from "../../ui/Editor.js"
import { Select, TextField } from "../../ui/Field.js"
import type { TriggerForm } from "./triggerForm.js"

type AppEvent = TriggerForm["appEvent"]

export const AppEventFields = ({
  appEvent,
  isNew,
  put,
  wrong
}: {
  readonly appEvent: AppEvent
  /** The connector of a trigger never changes. */
  readonly isNew: boolean
  readonly put: (part: Partial<AppEvent>) => void
  readonly wrong: (path: string) => string | undefined
}) => {
  const { connector } = appEvent
  const connectors = useList("/api/v1/connectors", {}, { pageSize: 200 })
  const chosen = useRead(
    "/api/v1/connectors/{ctr}",
    { params: { path: { ctr: connector } } },
    { enabled: connector !== "" }
  )
  const mayRead = useMay("connections:read")
  const connections = useList(
    "/api/v1/connections",
    { connector },
    { pageSize: 200, enabled: connector !== "" && mayRead }
  )
  const events = (chosen.data?.data.events ?? []) as unknown as ReadonlyArray<{
    readonly id: string
    readonly title?: string
    readonly delivery: string
  }>
  return (
    <div className="stack">
      <div className="columns">
        <Select
          label="Connector"
          none="Choose …"
          value={connector}
          disabled={!isNew}
          onChange={(slug) => put({ connector: slug, event: "", connectionId: "" })}
          options={connectors.rows
            .filter(({ events: has }) => has.length > 0 || !isNew)
            .map(({ name, slug }) => [slug, name] as const)}
          hint={isNew ? "Those that have events." : "It cannot be changed."}
          wrong={wrong("appEvent.connector")}
        />
        <Select
          label="Event"
          none="Choose …"
          value={appEvent.event}
          onChange={(event) => put({ event })}
          options={events.map(({ delivery, id, title }) => [id, `${title ?? id} (${delivery})`] as const)}
          wrong={wrong("appEvent.event")}
        />
        {mayRead ? (
          <Select
            label="Connection"
            none="All active connections"
            value={appEvent.connectionId}
            onChange={(connectionId) => put({ connectionId })}
            options={connections.rows.map(({ id, label, status }) => [id, `${label} (${status})`] as const)}
            wrong={wrong("appEvent.connectionId")}
          />
        ) : (
          <TextField
            label="Connection's id"
            hint="Empty: all active connections."
            value={appEvent.connectionId}
            onChange={(connectionId) => put({ connectionId })}
            wrong={wrong("appEvent.connectionId")}
          />
        )}
      </div>
      <JsonField
        label="Arguments of the subscription"
        hint="What the connector's subscription or poll takes, as JSON. Empty: none."
        value={appEvent.args}
        onChange={(args) => put({ args })}
        wrong={wrong("appEvent.args")}
      />
    </div>
  )
}
