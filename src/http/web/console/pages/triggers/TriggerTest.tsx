/** Tests a trigger: fires it with a payload, or sends to its webhook as its senders do. */
import { useState } from "react"
import { Link } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { useCopy } from "../../ui/CopyText.js"
import { JsonField } from "../../ui/Editor.js"
import { TextField } from "../../ui/Field.js"
import { JsonValue } from "../../ui/JsonValue.js"
import { Card } from "../../ui/Page.js"
import { parseJson } from "../../ui/parseJson.js"
import { Problem } from "../../ui/States.js"

type Trigger = ApiSchemas["Trigger"]

export const TriggerTest = ({ trigger }: { readonly trigger: Trigger }) => {
  const [payload, setPayload] = useState(trigger.type === "schedule" ? "" : "{}")
  const isEmpty = payload.trim() === ""
  const parsed = parseJson(isEmpty ? "{}" : payload)
  return (
    <div className="stack">
      <Card title="Payload">
        <JsonField
          label="Payload of the test"
          hint={trigger.type === "schedule" ? "Empty: the input of each route." : "What the event carries."}
          value={payload}
          onChange={setPayload}
        />
      </Card>
      <Fire trigger={trigger} payload={isEmpty || !parsed.ok ? undefined : parsed.value} isReady={parsed.ok} />
      {trigger.webhook !== null && <Send webhook={trigger.webhook} payload={parsed.ok ? parsed.value : {}} />}
    </div>
  )
}

const Fire = ({
  isReady,
  payload,
  trigger
}: {
  readonly trigger: Trigger
  readonly payload: unknown
  readonly isReady: boolean
}) => {
  const [made, setMade] = useState<ApiSchemas["MadeEvent"]>()
  const fire = useChange(
    () =>
      bodyOf(
        client.POST("/api/v1/triggers/{trg}/fire", {
          params: { path: { trg: trigger.id } },
          body: payload === undefined ? {} : { payload: payload as Record<string, never> }
        })
      ),
    { changes: ["/api/v1/events", "/api/v1/executions"], done: ({ data }) => setMade(data) }
  )
  return (
    <Card title="Fire it">
      <div className="stack tight">
        <p>Makes an event as if the trigger had fired: filters and order apply, and runs start.</p>
        <div className="row">
          <Button
            kind="main"
            needs="workflows:execute"
            isRunning={fire.isRunning}
            disabled={!isReady}
            onClick={() => fire.run()}
          >
            Fire
          </Button>
          {made !== undefined && (
            <span role="status">
              <Badge word={made.status} /> <Link href={`/events/${made.eventId}`}>Open the event</Link>
            </span>
          )}
        </div>
        <Problem error={fire.error} />
      </div>
    </Card>
  )
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

interface Answered {
  readonly status: number
  readonly body: unknown
}

/** A request as senders make it. Other sites' addresses are not reached from the page: there the command stands. */
const Send = ({
  payload,
  webhook
}: {
  readonly webhook: NonNullable<Trigger["webhook"]>
  readonly payload: unknown
}) => {
  const [key, setKey] = useState("")
  const { copy, isCopied } = useCopy()
  const isOwn = new URL(webhook.url, location.origin).origin === location.origin
  const body = JSON.stringify(payload)
  const command = `curl -X POST ${quoted(webhook.url)} \\
  -H 'content-type: application/json' \\${
    webhook.auth === "access_key" ? `\n  -H "x-svc-access-key: $SVC_ACCESS_KEY" \\` : ""
  }
  -d ${quoted(body)}`
  const [answer, setAnswer] = useState<Answered>()
  const send = useChange(
    async (): Promise<Answered> => {
      const response = await fetch(webhook.url, {
        method: "POST",
        credentials: "omit",
        headers: { "content-type": "application/json", ...(key === "" ? {} : { "x-svc-access-key": key }) },
        body
      })
      return { status: response.status, body: await response.json().catch(() => null) }
    },
    { changes: ["/api/v1/events", "/api/v1/executions"], done: setAnswer }
  )
  return (
    <Card title="Send to its webhook">
      <div className="stack">
        {webhook.verify !== null && (
          <p className="notice">
            Requests are verified by a signature, which only the sender can make: a test without it is refused.
          </p>
        )}
        {isOwn ? (
          <form
            className="stack tight"
            onSubmit={(event) => {
              event.preventDefault()
              if (!send.isRunning) send.run()
            }}
          >
            {webhook.auth === "access_key" && (
              <TextField
                type="password"
                label="Access key"
                hint="Stays in this page; it was shown when the trigger was created or its key was rotated."
                value={key}
                onChange={setKey}
              />
            )}
            <div>
              <Button type="submit" isRunning={send.isRunning}>
                Send the payload
              </Button>
            </div>
          </form>
        ) : (
          <p>The webhook's address is of another site than this page: send with the command.</p>
        )}
        {send.error !== null && <p className="notice bad">The webhook was not reached: {send.error.message}</p>}
        {answer !== undefined && (
          <div role="status" className="stack tight">
            <p>
              Answered {answer.status}. {eventOf(answer.body)}
            </p>
            <JsonValue name="answer" value={answer.body} />
          </div>
        )}
        <details>
          <summary>The same with curl</summary>
          <pre className="value" tabIndex={0}>
            {command}
          </pre>
          <Button size="small" onClick={() => copy(command)}>
            {isCopied ? "Copied" : "Copy"}
          </Button>
        </details>
      </div>
    </Card>
  )
}

const eventOf = (body: unknown) => {
  const id = (body as { readonly eventId?: unknown } | null)?.eventId
  return typeof id === "string" ? <Link href={`/events/${id}`}>Open the event</Link> : null
}
