/** The version of the form in which a connector's definition is stored: one in the current form needs no conversion. */
import { script } from "./policies.js"

export default script("ALTER TABLE connector_versions ADD COLUMN form integer NOT NULL DEFAULT 1")
