/** The console: who is signed in, the navigation, and the page of the address. */
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query"
import { Component, type ReactNode, Suspense, useEffect, useState } from "react"
import { Link, Route, Router, Switch, useLocation } from "wouter"
import { ApiError, chosenOrganisation } from "./api/Client.js"
import { useRead } from "./api/Reads.js"
import { may, type SignedInPerson, SessionProvider, useMe } from "./api/Session.js"
import { LiveProvider } from "./live/Live.js"
import { type PageRoute, routes, sections } from "./Pages.js"
import { Button } from "./ui/Button.js"
import { Select } from "./ui/Field.js"
import { Page } from "./ui/Page.js"
import { Search } from "./ui/Search.js"
import { Empty, Forbidden, Loading, Problem } from "./ui/States.js"
import { ToastProvider } from "./ui/Toasts.js"

/** Refusals do not change by asking again, but for those of too many requests. */
const mayHelp = (failures: number, error: unknown): boolean =>
  failures < 2 && error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500)

/** Milliseconds before asking again. */
const delay = (failures: number, error: unknown): number =>
  error instanceof ApiError && error.status === 429 ? 15_000 : 1_000 * 2 ** failures

/** Any answer may tell that the session has ended: then who is signed in is read again, which leads to the sign-in. */
const lookWhoIsSignedIn = (error: unknown): void => {
  if (error instanceof ApiError && error.status === 401) void queries.refetchQueries({ queryKey: ["/api/v1/me"] })
}

const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, { queryKey }) => queryKey[0] !== "/api/v1/me" && lookWhoIsSignedIn(error)
  }),
  mutationCache: new MutationCache({ onError: lookWhoIsSignedIn }),
  defaultOptions: {
    queries: { staleTime: 5_000, gcTime: 300_000, retry: mayHelp, retryDelay: delay, refetchOnWindowFocus: true },
    mutations: { retry: false }
  }
})

export const App = () => (
  <QueryClientProvider client={queries}>
    <Router base="/console">
      <SignedIn />
    </Router>
  </QueryClientProvider>
)

/** Leads to the sign-in, which leads back here. */
const signIn = (): void => {
  const next = location.pathname + location.search
  location.assign(`/login?next=${encodeURIComponent(next)}`)
}

const SignedIn = () => {
  const { data, error, refetch } = useRead("/api/v1/me", undefined, { every: 60_000 })
  const isSignedOut = error?.status === 401
  const isElsewhere = error?.status === 403 && chosenOrganisation.get() !== null
  useEffect(() => {
    if (isSignedOut) signIn()
    if (!isElsewhere) return
    // The organisation that was chosen before is not the person's any more.
    chosenOrganisation.set(null)
    void refetch()
  }, [isElsewhere, isSignedOut, refetch])
  if (data !== undefined && !isSignedOut)
    return (
      <SessionProvider me={data.data}>
        <ToastProvider>
          <LiveProvider>
            <Frame />
          </LiveProvider>
        </ToastProvider>
      </SessionProvider>
    )
  return error === null || isSignedOut || isElsewhere ? (
    <Loading what="the console" />
  ) : (
    <main className="page">
      <Problem error={error} retry={() => void refetch()} />
    </main>
  )
}

const Frame = () => {
  const [isOpen, setOpen] = useState(false)
  const [path] = useLocation()
  useEffect(() => setOpen(false), [path])
  return (
    <>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <div className="frame">
        <div className="menu-bar">
          <Brand />
          <Button onClick={() => setOpen(!isOpen)} expanded={isOpen}>
            Menu
          </Button>
        </div>
        <div className={isOpen ? "side open" : "side"}>
          <Brand />
          <Search />
          <Navigation />
          <Account />
        </div>
        <Failures key={path}>
          <Suspense fallback={<Loading what="the page" />}>
            <Switch>
              {routes.map((route) => (
                <Route key={route.path} path={route.path}>
                  <Routed {...route} />
                </Route>
              ))}
              <Route>
                <Page title="Not found">
                  <Empty title="There is no such page">
                    The address may be mistyped, or of another version of svc. Search finds pages and records: Ctrl K.
                  </Empty>
                </Page>
              </Route>
            </Switch>
          </Suspense>
        </Failures>
      </div>
    </>
  )
}

/** The page, or what it takes: nothing is asked that the role cannot read. */
const Routed = ({ name, needs, page: Shown }: PageRoute) => {
  const me = useMe()
  return needs === undefined || may(me, needs) ? (
    <Shown />
  ) : (
    <Page title={name}>
      <Forbidden permission={needs} />
    </Page>
  )
}

const Brand = () => (
  <Link href="/" className="brand">
    <svg width="20" height="20" viewBox="0 0 16 16" aria-hidden>
      <rect width="16" height="16" rx="4" fill="var(--accent-fill)" />
      <path d="M4.5 11.5 11.5 4.5" stroke="#fff" strokeWidth="1.6" />
      <circle cx="4.5" cy="11.5" r="2" fill="#fff" />
      <circle cx="11.5" cy="4.5" r="2" fill="#fff" />
    </svg>
    svc
  </Link>
)

const groups = ["Work", "Connect", "Manage", "Account"] as const

const Navigation = () => {
  const me = useMe()
  const [path] = useLocation()
  const isCurrent = (to: string) => (to === "/" ? path === "/" : path === to || path.startsWith(`${to}/`))
  return (
    <nav aria-label="Pages" className="stack">
      {groups.map((group) => {
        const own = sections.filter((section) => section.group === group)
        return own.length === 0 ? null : (
          <div key={group}>
            <h2>{group}</h2>
            <ul>
              {own.map(({ name, needs, path: to }) => (
                <li key={to}>
                  <Link href={to} aria-current={isCurrent(to) ? "page" : undefined}>
                    {name}
                    {needs !== undefined && !may(me, needs) && (
                      <span className="soft" title={`Needs ${needs}`}>
                        closed
                      </span>
                    )}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        )
      })}
    </nav>
  )
}

const themeKey = "svc.theme"
/** The theme that was chosen in this browser; otherwise that of the system. */
export const applyTheme = (): void => {
  document.documentElement.dataset["theme"] = localStorage.getItem(themeKey) ?? ""
}

const Account = () => {
  const me = useMe()
  const [theme, setTheme] = useState(localStorage.getItem(themeKey) ?? "")
  const choose = (id: string) => {
    chosenOrganisation.set(id)
    location.assign("/console/")
  }
  return (
    <footer className="stack tight">
      {me.organisations.length > 1 ? (
        <Select
          label="Organisation"
          value={me.organisation.id}
          onChange={choose}
          options={me.organisations.map(({ id, name }) => [id, name] as const)}
        />
      ) : (
        <strong>{me.organisation.name}</strong>
      )}
      <span className="soft">{nameOf(me)}</span>
      <Select
        label="Theme"
        value={theme}
        onChange={(chosen) => {
          setTheme(chosen)
          if (chosen === "") localStorage.removeItem(themeKey)
          else localStorage.setItem(themeKey, chosen)
          applyTheme()
        }}
        options={["light", "dark"]}
        none="As the system"
      />
      <form method="post" action="/logout">
        <Button type="submit">Sign out</Button>
      </form>
    </footer>
  )
}

const nameOf = ({ email, name }: SignedInPerson): string =>
  email === null || email === name ? name : `${name} (${email})`

/** Shows a failure of a page's own code, which leaves the navigation working. */
class Failures extends Component<{ readonly children: ReactNode }, { readonly failure: unknown }> {
  override state = { failure: undefined as unknown }

  static getDerivedStateFromError(failure: unknown) {
    return { failure }
  }

  override render() {
    if (this.state.failure === undefined) return this.props.children
    return (
      <Page title="This page failed">
        <Empty title="This page failed" action={<Button onClick={() => location.reload()}>Load it again</Button>}>
          {this.state.failure instanceof Error ? this.state.failure.message : "The reason is unknown."} If the service
          was just updated, loading the page again is enough.
        </Empty>
      </Page>
    )
  }
}
