/** Tabs whose choice is kept in the address, as `tab`. */
import * as Ariakit from "@ariakit/react"
import type { ReactNode } from "react"
import { useFilters } from "./Filters.js"

export interface Tab {
  readonly id: string
  readonly name: string
  readonly of: () => ReactNode
}

export const Tabs = ({ label, tabs }: { readonly label: string; readonly tabs: ReadonlyArray<Tab> }) => {
  const { set, values } = useFilters(["tab"])
  const chosen = tabs.find(({ id }) => id === values.tab) ?? tabs[0]
  return (
    <Ariakit.TabProvider selectedId={chosen?.id ?? null} setSelectedId={(id) => set("tab", id ?? "")}>
      <Ariakit.TabList className="tabs" aria-label={label}>
        {tabs.map(({ id, name }) => (
          <Ariakit.Tab key={id} id={id}>
            {name}
          </Ariakit.Tab>
        ))}
      </Ariakit.TabList>
      {tabs.map(({ id, of }) => (
        <Ariakit.TabPanel key={id} tabId={id} unmountOnHide>
          {of()}
        </Ariakit.TabPanel>
      ))}
    </Ariakit.TabProvider>
  )
}
