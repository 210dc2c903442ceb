/** Tables: a short one of all its rows, and a list that has only the rows in view in the page, however many are read. */
import { useVirtualizer } from "@tanstack/react-virtual"
import { type ReactNode, useEffect, useRef } from "react"
import type { ApiError } from "../api/Client.js"
import { Button } from "./Button.js"
import { Loading, Problem } from "./States.js"

export interface Column<One> {
  readonly name: string
  readonly of: (row: One) => ReactNode
  readonly isNumber?: boolean
  /** Its name is read out but not shown. */
  readonly isUnnamed?: boolean
}

interface TableProps<One> {
  /** What the rows are, for screen readers. */
  readonly label: string
  readonly columns: ReadonlyArray<Column<One>>
  readonly rows: ReadonlyArray<One>
  readonly keyOf: (row: One) => string
}

const Head = <One,>({ columns }: Pick<TableProps<One>, "columns">) => (
  <thead>
    <tr>
      {columns.map(({ isNumber, isUnnamed, name }) => (
        <th key={name} scope="col" className={isNumber ? "number" : undefined}>
          {isUnnamed ? <span className="unseen">{name}</span> : name}
        </th>
      ))}
    </tr>
  </thead>
)

const Cells = <One,>({ columns, row }: { readonly columns: ReadonlyArray<Column<One>>; readonly row: One }) =>
  columns.map(({ isNumber, name, of }) => (
    <td key={name} className={isNumber ? "number" : undefined}>
      {of(row)}
    </td>
  ))

export const Table = <One,>({ columns, keyOf, label, rows }: TableProps<One>) => (
  <div className="table-scroll" role="region" aria-label={label} tabIndex={0}>
    <table>
      <caption className="unseen">{label}</caption>
      <Head columns={columns} />
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            <Cells columns={columns} row={row} />
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

/** What `useList` returns. */
interface Listed<One> {
  readonly rows: ReadonlyArray<One>
  readonly error: ApiError | null
  readonly isPending: boolean
  readonly hasMore: boolean
  readonly isReadingMore: boolean
  readonly more: () => unknown
  readonly refetch: () => unknown
}

const rowHeight = 36

/** A list that reads its next page as its end comes into view. `empty` is shown where there is no row. */
export const ListTable = <One,>({
  columns,
  empty,
  keyOf,
  label,
  list
}: Omit<TableProps<One>, "rows"> & { readonly list: Listed<One>; readonly empty: ReactNode }) => {
  const { error, hasMore, isPending, isReadingMore, more, refetch, rows } = list
  const frame = useRef<HTMLDivElement>(null)
  const view = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    getItemKey: (at) => keyOf(rows[at]!),
    overscan: 12
  })
  const shown = view.getVirtualItems()
  const last = shown.at(-1)?.index ?? 0
  useEffect(() => {
    if (hasMore && !isReadingMore && last >= rows.length - 10) void more()
  }, [hasMore, isReadingMore, last, more, rows.length])

  if (isPending) return <Loading what={label} />
  if (rows.length === 0) return error === null ? empty : <Problem error={error} retry={() => void refetch()} />
  const above = shown[0]?.start ?? 0
  const below = view.getTotalSize() - (shown.at(-1)?.end ?? 0)
  return (
    <>
      <Problem error={error} retry={() => void refetch()} />
      <div ref={frame} className="list card flush" role="region" aria-label={label} tabIndex={0}>
        <table aria-rowcount={hasMore ? -1 : rows.length + 1}>
          <caption className="unseen">{label}</caption>
          <Head columns={columns} />
          <tbody>
            {above > 0 && <Gap height={above} span={columns.length} />}
            {shown.map(({ index, key }) => {
              const row = rows[index]
              return row === undefined ? null : (
                <tr key={String(key)} aria-rowindex={index + 2}>
                  <Cells columns={columns} row={row} />
                </tr>
              )
            })}
            {below > 0 && <Gap height={below} span={columns.length} />}
          </tbody>
        </table>
        {isReadingMore && <Loading what={`more ${label}`} />}
        {hasMore && !isReadingMore && (
          <p className="row">
            <Button kind="plain" onClick={() => void more()}>
              Read more
            </Button>
          </p>
        )}
      </div>
    </>
  )
}

/** Stands for rows that are not in view. */
const Gap = ({ height, span }: { readonly height: number; readonly span: number }) => (
  <tr aria-hidden="true">
    <td colSpan={span} style={{ height }} />
  </tr>
)

/** Offers the records that have arrived since a list of `useStableList` was opened. */
export const NewerRows = ({
  list: { newer, showNewer }
}: {
  readonly list: { readonly newer: string | undefined; readonly showNewer: () => void }
}) => (
  <div aria-live="polite">
    {newer !== undefined && (
      <p className="row newer">
        <Button onClick={showNewer}>{`Show ${newer} newer`}</Button>
      </p>
    )}
  </div>
)
