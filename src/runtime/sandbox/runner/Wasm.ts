/**
 * Typed access to the engine's wasm package and to the parts of WebAssembly that are used. The package's types describe
 * CommonJS and browsers; only this module casts them to what they are in Node.
 */
import packaged from "@jitl/quickjs-ng-wasmfile-release-sync"
import type { QuickJSSyncVariant } from "quickjs-emscripten-core"

type Imported = Awaited<ReturnType<QuickJSSyncVariant["importModuleLoader"]>>
/** As ESM the import is the loader itself, not an object around it. */
type ModuleLoader = Extract<Imported, (...args: never) => unknown>
type LoaderOptions = NonNullable<Parameters<ModuleLoader>[0]>
/** Opaque: the loader makes it for the instance. */
type Imports = Parameters<NonNullable<LoaderOptions["instantiateWasm"]>>[0]

export interface WasmMemory {
  readonly buffer: ArrayBuffer
}
export interface WasmModule {
  readonly wasmModule: never
}
interface WasmInstance {
  readonly exports: object
}

// TypeScript types WebAssembly only in the browser's library, which this project does not include.
export const { Instance, Memory, Module } = Reflect.get(globalThis, "WebAssembly") as {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => WasmModule
  readonly Memory: new (size: { readonly initial: number; readonly maximum: number }) => WasmMemory
  readonly Instance: new (module: WasmModule, imports: Imports) => WasmInstance
}

// Under NodeNext the package's types describe its CommonJS form; imported as ESM its default export is the variant.
const variant = packaged as unknown as QuickJSSyncVariant

export type Ffi = InstanceType<Awaited<ReturnType<QuickJSSyncVariant["importFFI"]>>>
export type EngineModule = Awaited<ReturnType<ModuleLoader>>

export interface Bindings {
  readonly makeModule: (compiled: WasmModule, memory: WasmMemory) => Promise<EngineModule>
  readonly makeFfi: (module: EngineModule) => Ffi
}

export const loadBindings = async (): Promise<Bindings> => {
  const load = (await variant.importModuleLoader()) as ModuleLoader
  const Functions = await variant.importFFI()
  return {
    makeModule: (compiled, memory) => {
      // The loader types memory and instance as the browser's; they are the same objects.
      const options = {
        wasmMemory: memory,
        instantiateWasm: (imports: Imports, onSuccess: (instance: WasmInstance) => void) => {
          const instance = new Instance(compiled, imports)
          onSuccess(instance)
          return instance.exports
        }
      } as unknown as LoaderOptions
      return load(options)
    },
    makeFfi: (module) => new Functions(module)
  }
}
