/** One dead letter: what failed, with what, and its replay. */
import { useState } from "react"
import { Link, useParams } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useRead, useRemoval } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { CopyText } from "../../ui/CopyText.js"
import { Confirm, FormDialog } from "../../ui/Dialog.js"
import { Select } from "../../ui/Field.js"
import { JsonValue } from "../../ui/JsonValue.js"
import { Card, Facts, Page } from "../../ui/Page.js"
import { Loaded } from "../../ui/States.js"
import { Time } from "../../ui/Time.js"
import { useToast } from "../../ui/Toasts.js"

type Letter = ApiSchemas["DeadLetter"]
const changes = ["/api/v1/dlq", "/api/v1/dlq/{dlq}"] as const

export const DeadLetter = () => {
  const { dlq = "" } = useParams()
  const found = useRead("/api/v1/dlq/{dlq}", { params: { path: { dlq } } })
  const data = found.data?.data
  return (
    <Page
      title={data?.type ?? "Dead letter"}
      above={[{ name: "Dead letters", to: "/dead-letters" }]}

      beside={data !== undefined && <Badge word={data.status} />}
      actions={data?.status === "pending" && <Actions letter={data} />}
    >
      <Loaded of={found} what="the dead letter">
        {({ data }) => <Parts letter={data} />}
      </Loaded>
    </Page>
  )
}

const linkTo = (path: string, id: string | null) => (id === null ? "–" : <Link href={`/${path}/${id}`}>{id}</Link>)

const Parts = ({ letter }: { readonly letter: Letter }) => (
  <div className="columns">
    <Card title="What failed">
      <Facts
        facts={[
          ["Dead letter", <CopyText key="id" text={letter.id} />],
          ["Event", linkTo("events", letter.eventId)],
          ["Run", linkTo("runs", letter.executionId)],
          ["Trigger", linkTo("triggers", letter.triggerId)],
          ["Customer", linkTo("customers", letter.customerId)],
          ["Connector", letter.connector ?? "–"],
          ["Tries", letter.retryCount],
          ["Replayed because of", letter.replayCause ?? "–"],
          ["Created", <Time key="created" at={letter.createdAt} isExact />],
          ["Kept until", <Time key="expires" at={letter.expiresAt} isExact />]
        ]}
      />
    </Card>
    <Card title="Error">
      <JsonValue name={`${letter.id}-error`} value={letter.error} />
    </Card>
    <Card title="Payload">
      <JsonValue name={`${letter.id}-payload`} value={letter.payload} />
    </Card>
    <Card title="Context">
      <JsonValue name={`${letter.id}-context`} value={letter.context} />
    </Card>
  </div>
)

const Actions = ({ letter }: { readonly letter: Letter }) => {
  const [shown, show] = useState<"replay" | "discard">()
  const [mode, setMode] = useState("latest")
  const close = () => show(undefined)
  const tell = useToast()
  const path = { params: { path: { dlq: letter.id } } }
  const replay = useChange(
    () => bodyOf(client.POST("/api/v1/dlq/{dlq}/replay", { ...path, body: { mode: mode as "same" | "latest" } })),
    {
      changes,
      done: () => {
        close()
        tell("It is replayed.")
      }
    }
  )
  const discard = useRemoval(() => bodyOf(client.DELETE("/api/v1/dlq/{dlq}", path)), {
    list: "/api/v1/dlq",
    to: "/dead-letters"
  })
  return (
    <>
      <Button kind="main" needs="events:replay" onClick={() => show("replay")}>
        Replay
      </Button>
      <Button kind="danger" needs="events:delete" onClick={() => show("discard")}>
        Discard
      </Button>
      {shown === "replay" && (
        <FormDialog
          title="Replay the dead letter"
          verb="Replay"
          isOpen
          close={close}
          send={() => replay.run()}
          isRunning={replay.isRunning}
          error={replay.error}
        >
          <p>It is replayed once, for the route that failed.</p>
          <Select
            label="Version"
            value={mode}
            onChange={setMode}
            options={[
              ["latest", "the one that is deployed now"],
              ["same", "the one that ran before"]
            ]}
          />
        </FormDialog>
      )}
      {shown === "discard" && (
        <Confirm
          title="Discard the dead letter?"
          verb="Discard"
          isOpen
          close={close}
          send={() => discard.run()}
          isRunning={discard.isRunning}
          error={discard.error}
        >
          <p>It cannot be replayed any more.</p>
        </Confirm>
      )}
    </>
  )
}
