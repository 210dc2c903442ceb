/** One run. */
import { useParams } from "wouter"
import { useRead } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { JsonValue } from "../../ui/JsonValue.js"
import { Card, Facts, Page } from "../../ui/Page.js"
import { Loaded } from "../../ui/States.js"
import { Time } from "../../ui/Time.js"

export const Run = () => {
  const { eid = "" } = useParams()
  const run = useRead("/api/v1/executions/{eid}", { params: { path: { eid } } })
  return (
    <Page title={eid} above={[{ name: "Runs", to: "/runs" }]} needs="executions:read">
      <Loaded of={run} what="the run">
        {({ data }) => (
          <div className="stack">
            <Card title="Run">
              <Facts
                facts={[
                  ["Status", <Badge key="status" word={data.status} />],
                  ["Created", <Time key="time" at={data.createdAt} isExact />]
                ]}
              />
            </Card>
            <Card title="Output">
              <JsonValue name={`${eid}-output`} value={data.output} />
            </Card>
          </div>
        )}
      </Loaded>
    </Page>
  )
}
