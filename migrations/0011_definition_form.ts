/** In which form a connector's definition is stored, so that one in the present form is used without reading it again. */
import { script } from "./policies.js"

export default script("ALTER TABLE connector_versions ADD COLUMN form integer NOT NULL DEFAULT 1")
