/** What the code of a run wrote to its log. */
import type { ListRow } from "../../api/Reads.js"
import { Button } from "../../ui/Button.js"
import { Empty, Loading, Problem } from "../../ui/States.js"
import type { ApiError } from "../../api/Client.js"

type LogRow = ListRow<"/api/v1/executions/{eid}/logs">

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" })

export const LogLines = ({ lines }: { readonly lines: ReadonlyArray<LogRow> }) => (
  <ol className="log" tabIndex={0} aria-label="Log">
    {lines.map(({ at, level, message, seq }) => (
      <li key={seq}>
        <time dateTime={at}>{clock.format(Date.parse(at))}</time>
        <span className="soft">{level}</span>
        <span>{message}</span>
      </li>
    ))}
  </ol>
)

/** All lines that were read, and a button that reads more. */
export const RunLogs = ({
  list: { error, hasMore, isPending, isReadingMore, more, refetch, rows }
}: {
  readonly list: {
    readonly rows: ReadonlyArray<LogRow>
    readonly error: ApiError | null
    readonly isPending: boolean
    readonly hasMore: boolean
    readonly isReadingMore: boolean
    readonly more: () => unknown
    readonly refetch: () => unknown
  }
}) => {
  if (isPending) return <Loading what="the log" />
  if (rows.length === 0 && error === null)
    return <Empty title="Nothing was logged">Lines of console.log in the workflow's code appear here.</Empty>
  return (
    <div className="stack tight">
      <Problem error={error} retry={() => void refetch()} />
      <LogLines lines={rows} />
      {hasMore && (
        <div className="row">
          <Button onClick={() => void more()} isRunning={isReadingMore}>
            Read more lines
          </Button>
        </div>
      )}
    </div>
  )
}
