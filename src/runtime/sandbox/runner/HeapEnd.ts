import type { EngineModule, WasmMemory } from "./Wasm.js"

/**
 * Finds the address of the allocator's end-of-heap word, or 0: the word that grows with two large allocations and keeps
 * its value when they are freed. Then all memory beyond it is untouched.
 */
export const findHeapEnd = async (instance: {
  readonly module: EngineModule
  readonly memory: WasmMemory
}): Promise<number> => {
  const large = 3 * 1024 * 1024
  const words = new Uint32Array(instance.memory.buffer, 0, 0x40000)
  const before = words.slice()
  const one = instance.module._malloc(large)
  const between = words.slice()
  const two = instance.module._malloc(large)
  const after = words.slice()
  instance.module._free(two)
  instance.module._free(one)
  const grew = (from: number, to: number): boolean => to - from > large * 0.8 && to - from < large * 1.3
  let found = 0
  let value = 0
  for (let i = 0; i < words.length; i++) {
    const [a = 0, b = 0, c = 0] = [before[i], between[i], after[i]]
    if (!grew(a, b) || !grew(b, c) || c > instance.memory.buffer.byteLength || c <= value) continue
    found = i * 4
    value = c
  }
  return found !== 0 && words[found / 4] === value ? found : 0
}
