/** The organisation's configuration, also as it applies to a customer, a workflow and an environment. */
import { CustomerChoice, EnvironmentChoice, WorkflowChoice } from "../../ui/Choices.js"
import { FilterBar, useFilters } from "../../ui/Filters.js"
import { Page } from "../../ui/Page.js"
import { ConfigurationTable } from "./ConfigurationTable.js"

export const Configuration = () => {
  const { clear, isSet, set, values } = useFilters(["customer_id", "workflow_id", "environment"])
  const [level, scopeId] =
    values.workflow_id !== undefined
      ? (["flow", values.workflow_id] as const)
      : values.customer_id !== undefined
        ? (["tenant", values.customer_id] as const)
        : (["saas", null] as const)
  return (
    <Page title="Configuration">
      <FilterBar isSet={isSet} clear={clear}>
        <CustomerChoice value={values.customer_id ?? ""} onChange={(value) => set("customer_id", value)} none="All" />
        <WorkflowChoice value={values.workflow_id ?? ""} onChange={(value) => set("workflow_id", value)} none="All" />
        <EnvironmentChoice
          value={values.environment ?? ""}
          onChange={(value) => set("environment", value)}
          none="All"
        />
      </FilterBar>
      <ConfigurationTable query={values} level={level} scopeId={scopeId} />
    </Page>
  )
}
