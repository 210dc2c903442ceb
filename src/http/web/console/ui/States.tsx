/** What a page or a part of it shows instead of its content: loading, empty, failed, forbidden. */
import type { ReactNode } from "react"
import type { ApiError } from "../api/Client.js"
import { useMay } from "../api/Session.js"
import { Button } from "./Button.js"
import { CopyText } from "./CopyText.js"

export const Loading = ({ what }: { readonly what: string }) => (
  <div className="blank" role="status">
    <span className="spinner" aria-hidden />
    <p>Loading {what} …</p>
  </div>
)

/** `title` says what there is none of; the children say what to do first. */
export const Empty = ({
  action,
  children,
  title
}: {
  readonly title: string
  readonly children?: ReactNode
  readonly action?: ReactNode
}) => (
  <div className="blank">
    <h2>{title}</h2>
    {children !== undefined && <p>{children}</p>}
    {action}
  </div>
)

/** A failure of the API: its message, details and the id of the request. */
export const Problem = ({
  error,
  retry
}: {
  readonly error: ApiError | null | undefined
  readonly retry?: () => void
}) =>
  error === null || error === undefined ? null : (
    <div className="notice bad stack tight" role="alert">
      <p>{error.message}</p>
      {error.details.length > 0 && (
        <ul>
          {error.details.map(({ code, column, line, message, path }, at) => (
            <li key={at}>
              {path !== "" && <code>{path}</code>} {line !== undefined && `line ${line}, column ${column ?? 1}: `}
              {message} <span className="soft">{code}</span>
            </li>
          ))}
        </ul>
      )}
      <div className="row">
        {error.requestId !== null && (
          <span className="soft">
            Request <CopyText text={error.requestId} />
          </span>
        )}
        {retry !== undefined && (
          <Button size="small" onClick={retry}>
            Try again
          </Button>
        )}
      </div>
    </div>
  )

export const Forbidden = ({ permission }: { readonly permission: string }) => (
  <div className="blank">
    <h2>Your role does not show you this</h2>
    <p>
      It takes the permission <code>{permission}</code>. Somebody who manages people can give it to you.
    </p>
  </div>
)

/** Shows its children to who has the permission, else says which one it takes. */
export const Guard = ({ children, permission }: { readonly permission: string; readonly children: ReactNode }) =>
  useMay(permission) ? children : <Forbidden permission={permission} />

interface Read<Body> {
  readonly data: Body | undefined
  readonly error: ApiError | null
  readonly refetch: () => unknown
}

/** The children with what was read; before that, that it is loading or why it failed. */
export const Loaded = <Body,>({
  children,
  of: { data, error, refetch },
  what
}: {
  readonly of: Read<Body>
  readonly what: string
  readonly children: (body: Body) => ReactNode
}) => {
  if (data !== undefined) return children(data)
  return error === null ? <Loading what={what} /> : <Problem error={error} retry={() => void refetch()} />
}
