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
                  of: ({ current, userAgent }) => `${browserOf(userAgent)}${current ? " (this one)" : ""}`
                },
                { name: "Address", of: ({ ip }) => ip },
                { name: "Signed in", of: ({ createdAt }) => <Time at={createdAt} /> },
                { name: "Last used", of: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
                { name: "Ends", of: ({ expiresAt }) => <Time at={expiresAt} isExact /> },
                {
                  name: "End it",
                  isUnnamed: true,
                  of: ({ id, userAgent }) => (
                    <Button size="small" kind="danger" object={browserOf(userAgent)} onClick={() => end.run(id)}>
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

const browsers = ["Edg", "OPR", "Firefox", "Chrome", "Safari"]
const systems = ["Windows", "Android", "iPhone", "iPad", "Mac OS", "Linux"]

/** Name and system of a browser, as it tells them. */
const browserOf = (userAgent: string | null): string => {
  if (userAgent === null) return "An unknown browser"
  const named = (names: ReadonlyArray<string>) => names.find((name) => userAgent.includes(name))
  const [name, system] = [named(browsers), named(systems)]
  return name === undefined
    ? userAgent.slice(0, 60)
    : `${name.replace("Edg", "Edge").replace("OPR", "Opera")}${system === undefined ? "" : ` on ${system}`}`
}
