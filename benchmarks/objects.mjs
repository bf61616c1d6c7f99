// `node benchmarks/objects.mjs`: what some ways to make or keep objects cost, in µs of CPU each,
// with garbage collection. benchmarks/findings.md has the figures.
import { ShortLivedMap } from '@org/agent-messaging-core/runtime'
import { ok, okAsync } from 'neverthrow'

const EACH = 100_000
const IN_FLIGHT = 50
const FIELDS_PER_VALUE = 200
const GARBAGE_PER_VALUE = 2_000

let kept
const rows = []

async function measure(what, make) {
  for (let n = 0; n < EACH / 10; n++) await make(n)
  const before = process.cpuUsage()
  for (let n = 0; n < EACH; n++) await make(n)
  const { user, system } = process.cpuUsage(before)
  rows.push({ what, µs: Number(((user + system) / EACH).toFixed(2)) })
}

const ref = (n) => ({ projectId: `p${n & 7}`, agent: 'a' })
const body = (n) => ({ sessionId: `s${n}`, message: 'm' })

await measure('an object that begins with a spread, and 6 fields', (n) => {
  kept = { ...ref(n), ...body(n), key: 'k', waitMs: 1, abort: ref, trace: n, id: n, actor: n }
})
await measure('the same with the fields first', (n) => {
  kept = { key: 'k', waitMs: 1, abort: ref, trace: n, id: n, actor: n, ...ref(n), ...body(n) }
})
await measure('ResultAsync.map', (n) => okAsync(n).map((value) => value + 1))
await measure('ResultAsync.andThen', (n) => okAsync(n).andThen((value) => ok(value + 1)))
await measure('new AbortController().signal', () => {
  kept = new AbortController().signal
})

const fields = (count) => Array.from({ length: count }, (_, field) => ({ field }))

/** 50 values are in flight. Each is added, lives for 50 turns and is deleted. */
const inFlight = (map) => (n) => {
  kept = fields(GARBAGE_PER_VALUE)
  map.set(n, fields(FIELDS_PER_VALUE))
  map.delete(n - IN_FLIGHT)
}
await measure('a value of 200 objects in a Map, beside garbage', inFlight(new Map()))
await measure('the same in a ShortLivedMap', inFlight(new ShortLivedMap()))

if (kept === undefined) throw new Error('nothing was made')
console.log(`Node ${process.version}`)
console.table(rows)
