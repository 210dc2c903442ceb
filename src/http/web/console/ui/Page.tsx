/** The frame of every page: title, what leads here, actions, content. */
import { type ReactNode, useEffect } from "react"
import { Link } from "wouter"

export interface PageProps {
  readonly title: string
  /** What stands beside the title, as a status. */
  readonly beside?: ReactNode
  /** Pages above this one. */
  readonly above?: ReadonlyArray<{ readonly name: string; readonly to: string }>
  readonly actions?: ReactNode
  readonly children: ReactNode
}

export const Page = ({ above = [], actions, beside, children, title }: PageProps) => {
  useEffect(() => {
    document.title = `${title} · svc`
  }, [title])
  return (
    <main className="page" id="main" tabIndex={-1}>
      <header>
        {above.length > 0 && (
          <nav aria-label="Above this page" className="row soft">
            {above.map(({ name, to }) => (
              <span key={to}>
                <Link href={to}>{name}</Link> /
              </span>
            ))}
          </nav>
        )}
        <div className="row apart">
          <div className="row">
            <h1>{title}</h1>
            {beside}
          </div>
          {actions !== undefined && <div className="row">{actions}</div>}
        </div>
      </header>
      {children}
    </main>
  )
}

/** A box with a heading. `flush`: its content reaches the edges, as a table does. */
export const Card = ({
  actions,
  children,
  flush = false,
  title
}: {
  readonly title?: string
  readonly actions?: ReactNode
  readonly flush?: boolean
  readonly children: ReactNode
}) => (
  <section className={flush ? "card flush" : "card"} aria-label={title}>
    {(title !== undefined || actions !== undefined) && (
      <header>
        <h2>{title}</h2>
        {actions !== undefined && <div className="row">{actions}</div>}
      </header>
    )}
    {children}
  </section>
)

/** Names and values of one record. */
export const Facts = ({ facts }: { readonly facts: ReadonlyArray<readonly [name: string, value: ReactNode]> }) => (
  <dl className="facts">
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)
