/** How a trigger on a connector's event is subscribed at its provider: what failed, and when it is tried again. */
import { Link } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useRead } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { Card, Facts } from "../../ui/Page.js"
import { Loaded, Problem } from "../../ui/States.js"
import { Table } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"
import { useToast } from "../../ui/Toasts.js"
import { triggerReads, triggerReadsEvery } from "./triggerReads.js"

type Subscription = ApiSchemas["TriggerSubscription"]

export const Subscriptions = ({ trigger }: { readonly trigger: ApiSchemas["Trigger"] }) => {
  const { appEvent } = trigger
  const path = { params: { path: { trg: trigger.id } } }
  const read = useRead("/api/v1/triggers/{trg}/subscriptions", path, {
    every: (last) => triggerReadsEvery(last?.data.map(({ state }) => state) ?? [])
  })
  const tell = useToast()
  const retry = useChange(() => bodyOf(client.POST("/api/v1/triggers/{trg}/retry-subscription", path)), {
    changes: triggerReads,
    done: () => tell("The failed subscriptions are tried again.")
  })
  if (appEvent === null) return null
  return (
    <Card
      title="Subscription"
      actions={
        appEvent.subscription === "failed" && (
          <Button needs="workflows:update" isRunning={retry.isRunning} onClick={() => retry.run()}>
            Try it again
          </Button>
        )
      }
    >
      <div className="stack">
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
        <Loaded of={read} what="the subscriptions">
          {({ data }) => (data.length === 0 ? null : <ByConnection rows={data} />)}
        </Loaded>
      </div>
    </Card>
  )
}

const ByConnection = ({ rows }: { readonly rows: ReadonlyArray<Subscription> }) => (
  <Table
    label="Subscriptions by connection"
    rows={rows}
    keyOf={({ connectionId }) => connectionId}
    columns={[
      {
        name: "Connection",
        of: ({ connectionId }) => (
          <Link href={`/connections/${connectionId}`} className="mono">
            {connectionId}
          </Link>
        )
      },
      { name: "State", of: ({ state }) => <Badge word={state} /> },
      {
        name: "What the provider said",
        of: ({ attempts, error }) =>
          error === null ? "–" : `${error} (${attempts === 1 ? "1 attempt" : `${attempts} attempts`})`
      },
      { name: "Next", of: (row) => <Next row={row} /> }
    ]}
  />
)

const Next = ({ row: { expiresAt, nextAt, state } }: { readonly row: Subscription }) => {
  if (state === "failed")
    return nextAt === null ? (
      <>not by itself: mend the cause, then try it again</>
    ) : (
      <>
        tried again <Time at={nextAt} />
      </>
    )
  if (state === "subscribed" && nextAt !== null)
    return (
      <>
        renewed <Time at={nextAt} />
      </>
    )
  return expiresAt === null ? (
    <>–</>
  ) : (
    <>
      ends <Time at={expiresAt} />
    </>
  )
}
