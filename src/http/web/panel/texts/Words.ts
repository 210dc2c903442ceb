/** The texts of the language that the session, or the page around the panel, chose; and what an error is in words. */
import { createContext } from "preact"
import { useContext } from "preact/hooks"
import type { PanelError } from "../session/Errors.js"
import { german } from "./de.js"
import { english, type Texts } from "./en.js"

/** The languages of the panel. */
export const languages: { readonly [locale in "en" | "de"]: Texts } = { en: english, de: german }

/** The texts that are shown. */
export const TextsOfPanel = createContext<Texts>(english)

/** The texts, for a component. */
export const useTexts = (): Texts => useContext(TextsOfPanel)

/** An error in words of the panel; what the service says, where the panel has no words for it. */
export const errorText = ({ error }: Texts, { code, message, status }: PanelError): string => {
  if (status === 0) return error.notReached
  if (status === 429) return error.tooMany
  if (code === "PLAN_LIMIT_REACHED") return error.planLimit
  if (status === 403) return error.notAllowed
  if (status === 404) return error.missing
  if (status === 409 || status === 412) return error.changed
  return status >= 500 ? error.unavailable : message
}
