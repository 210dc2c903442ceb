/** Where a trigger leads: the workflows that it starts, each with its filter. */
import { Button } from "../../ui/Button.js"
import { EnvironmentChoice, WorkflowChoice } from "../../ui/Choices.js"
import { JsonField } from "../../ui/Editor.js"
import { conditionSchema } from "./conditionSchema.js"
import { emptyRoute, type RouteForm } from "./triggerForm.js"

const mostRoutes = 50

export const RouteFields = ({
  hasPayload,
  onChange,
  problems,
  routes
}: {
  readonly routes: ReadonlyArray<RouteForm>
  /** The routes of a schedule have the input of its runs. */
  readonly hasPayload: boolean
  readonly onChange: (routes: ReadonlyArray<RouteForm>) => void
  readonly problems: ReadonlyArray<{ readonly path: string; readonly message: string }>
}) => {
  const put = (at: number, part: Partial<RouteForm>) =>
    onChange(routes.map((route, index) => (index === at ? { ...route, ...part } : route)))
  return (
    <div className="stack">
      {routes.map((route, at) => {
        const path = `routes[${at}]`
        const own = (member: string) =>
          problems
            .filter((one) => one.path === `${path}.${member}`)
            .map(({ message }) => message)
            .at(0)
        const below = (member: string) =>
          problems.flatMap(({ message, path: whole }) => {
            if (!whole.startsWith(`${path}.${member}`)) return []
            const inner = whole.slice(`${path}.${member}`.length).replace(/^\./, "")
            return [{ path: inner, message: inner === "" ? message : `${inner}: ${message}` }]
          })
        return (
          <fieldset key={route.key} className="stack">
            <legend>Route {at + 1}</legend>
            <div className="columns">
              <WorkflowChoice
                none="Choose …"
                value={route.workflowId}
                onChange={(workflowId) => put(at, { workflowId })}
                wrong={own("workflowId")}
              />
              <EnvironmentChoice
                none="The organisation's own choice"
                value={route.environment}
                onChange={(environment) => put(at, { environment })}
                wrong={own("environment")}
              />
            </div>
            <JsonField
              label={`Filter of route ${at + 1}`}
              hint={
                'A condition on the payload, such as {"path": "total", "op": "gt", "value": 100}. Empty: every event.'
              }
              value={route.filter}
              onChange={(filter) => put(at, { filter })}
              schema={conditionSchema}
              problems={below("filter")}
            />
            <details>
              <summary>{hasPayload ? "Input and headers of the runs" : "Headers of the runs"}</summary>
              <div className="stack">
                {hasPayload && (
                  <JsonField
                    label={`Input of the runs of route ${at + 1}`}
                    value={route.payload}
                    onChange={(payload) => put(at, { payload })}
                    wrong={own("payload")}
                  />
                )}
                <JsonField
                  label={`Headers of the runs of route ${at + 1}`}
                  hint='An object of texts, such as {"x-source": "shop"}.'
                  value={route.headers}
                  onChange={(headers) => put(at, { headers })}
                  problems={below("headers")}
                />
              </div>
            </details>
            {routes.length > 1 && (
              <div>
                <Button
                  kind="danger"
                  size="small"
                  object={`${at + 1}`}
                  onClick={() => onChange(routes.filter((_, index) => index !== at))}
                >
                  Remove route
                </Button>
              </div>
            )}
          </fieldset>
        )
      })}
      {routes.length < mostRoutes && (
        <div>
          <Button onClick={() => onChange([...routes, emptyRoute()])}>Add a route</Button>
        </div>
      )}
    </div>
  )
}
