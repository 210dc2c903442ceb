/** Where the person is signed in. */
import { bodyOf, client } from "../../api/Client.js"
import { useChange, useRead } from "../../api/Reads.js"
import { Button } from "../../ui/Button.js"
import { Card } from "../../ui/Page.js"
import { Loaded, Problem } from "../../ui/States.js"
import { Table } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"

export const OwnSessions = () => {
  const found = useRead("/api/v1/sessions")
  const end = useChange(
    (ses: string) => bodyOf(client.DELETE("/api/v1/sessions/{ses}", { params: { path: { ses } } })),
    {
      changes: ["/api/v1/sessions"]
    }
  )
  return (
    <div className="stack">
      <Problem error={end.error} />
      <Loaded of={found} what="your sessions">
        {({ data }) => (
          <Card flush>
            <Table
              label="Your sessions"
              rows={data}
              keyOf={({ id }) => id}
              columns={[
                {
                  name: "Browser",
                  of: ({ current, userAgent }) => `${userAgent ?? "unknown"}${current ? " (this one)" : ""}`
                },
                { name: "Address", of: ({ ip }) => ip },
                { name: "Signed in", of: ({ createdAt }) => <Time at={createdAt} /> },
                { name: "Last used", of: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
                { name: "Ends", of: ({ expiresAt }) => <Time at={expiresAt} isExact /> },
                {
                  name: "End it",
                  isUnnamed: true,
                  of: ({ id, userAgent }) => (
                    <Button
                      size="small"
                      kind="danger"
                      label={`End the session in ${userAgent ?? "an unknown browser"}`}
                      onClick={() => end.run(id)}
                    >
                      End
                    </Button>
                  )
                }
              ]}
            />
          </Card>
        )}
      </Loaded>
    </div>
  )
}
