/** The runs that were started again from a run. */
import { Link } from "wouter"
import { useList } from "../../api/Reads.js"
import { usePolls } from "../../live/Live.js"
import { Badge } from "../../ui/Badge.js"
import { Card } from "../../ui/Page.js"
import { Problem } from "../../ui/States.js"
import { Table } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"

const mostShown = 25
const everyMillis = 10_000

export const Reruns = ({ id }: { readonly id: string }) => {
  const every = usePolls(everyMillis)
  const list = useList(
    "/api/v1/executions",
    { parent_id: id },
    { pageSize: mostShown, ...(every === undefined ? {} : { every }) }
  )
  const rows = list.rows.slice(0, mostShown)
  return (
    <Card title="Started again from it">
      <Problem error={list.error} retry={() => void list.refetch()} />
      {rows.length === 0 ? (
        list.error === null && <p className="soft">{list.isPending ? "Reading …" : "No run."}</p>
      ) : (
        <div className="stack tight">
          <Table
            label="Runs started again from it"
            keyOf={(run) => run.id}
            rows={rows}
            columns={[
              {
                name: "Run",
                of: (run) => (
                  <Link href={`/runs/${run.id}`} className="mono">
                    {run.id}
                  </Link>
                )
              },
              { name: "Status", of: ({ status }) => <Badge word={status} /> },
              { name: "Created", of: ({ createdAt }) => <Time at={createdAt} /> }
            ]}
          />
          <p>
            <Link href={`/runs?parent_id=${id}`}>
              {list.hasMore ? `All, not only these ${mostShown}` : "In the list of runs"}
            </Link>
          </p>
        </div>
      )}
    </Card>
  )
}
