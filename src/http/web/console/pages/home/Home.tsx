/** The first page: the guide until it is done, and then what needs a person. */
import { Link } from "wouter"
import { useList } from "../../api/Reads.js"
import { useMay } from "../../api/Session.js"
import { usePolls } from "../../live/Live.js"
import { Badge } from "../../ui/Badge.js"
import { Card, Page } from "../../ui/Page.js"
import { Empty } from "../../ui/States.js"
import { Table } from "../../ui/Table.js"
import { durationText, Time } from "../../ui/Time.js"
import { Guide } from "./Guide.js"
import { NeedsYou } from "./NeedsYou.js"
import { FailureGroups, RunsOverTime } from "./RunsOverTime.js"

export const Home = () => (
  <Page title="Home">
    <div className="stack">
      <Guide />
      <NeedsYou />
      <LatestRuns />
      <Statistics />
    </div>
  </Page>
)

const Statistics = () =>
  useMay("executions:read") ? (
    <>
      <FailureGroups />
      <RunsOverTime />
    </>
  ) : null

const LatestRuns = () => {
  const isAllowed = useMay("executions:read")
  const every = usePolls(5_000)
  const { isPending, rows } = useList(
    "/api/v1/executions",
    {},
    { enabled: isAllowed, pageSize: 8, ...(every === undefined ? {} : { every }) }
  )
  if (!isAllowed || isPending) return null
  return (
    <Card title="Latest runs" flush actions={<Link href="/runs">All runs</Link>}>
      {rows.length === 0 ? (
        <Empty title="No runs yet">The first step above starts one.</Empty>
      ) : (
        <Table
          label="Latest runs"
          rows={rows}
          keyOf={({ id }) => id}
          columns={[
            { name: "Workflow", of: ({ id, workflowName }) => <Link href={`/runs/${id}`}>{workflowName}</Link> },
            { name: "Status", of: ({ status }) => <Badge word={status} /> },
            { name: "Started by", of: ({ trigger }) => trigger.type.replaceAll("_", " ") },
            { name: "Created", of: ({ createdAt }) => <Time at={createdAt} /> },
            {
              name: "Duration",
              isNumber: true,
              of: ({ durationMs }) => (durationMs === null ? "–" : durationText(durationMs))
            }
          ]}
        />
      )}
    </Card>
  )
}
