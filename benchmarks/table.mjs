import { MiB, ms } from './rows/figures.mjs'

/** The headings of the table, by the fields of a line. */
export const COLUMNS = {
  row: 'row',
  what: 'what',
  ours: 'ours',
  floor: 'floor',
  limit: 'limit',
  peers: 'peers',
  ratio: 'ratio',
  must: 'must',
  aims: 'aims at',
  cpu: 'CPU µs each',
  latency: 'p50 / p99 ms',
  rss: 'RSS MiB',
}
const MISSING = '–'

/** Returns a line of the table. Each contender has its medians, or a reason if they are missing. */
export function line(name, row, { sizes, measured }) {
  const having = (role) => measured.filter((contender) => contender.role === role)
  const [ours] = having('ours')
  const [floor] = having('floor')
  const [limit] = having('limit')
  const peers = having('peer')
  const read = (contender) =>
    contender.missing === undefined
      ? row.figure(contender.sample)
      : `${MISSING} (${contender.missing})`
  const named = (contender) => `${contender.name}: ${read(contender)}`
  const there = [ours, ...(floor ? [floor] : [])].every(({ missing }) => missing === undefined)
  const present = peers
    .filter(({ missing }) => missing === undefined)
    .map((peer) => ({ ...peer.sample, name: peer.name }))
  return {
    row: name,
    what: row.measures(sizes),
    ours: read(ours),
    floor: floor ? named(floor) : '',
    limit: limit ? named(limit) : '',
    peers: peers.map(named).join('; '),
    ratio: there ? row.ratio({ ours: ours.sample, floor: floor?.sample, peers: present }) : MISSING,
    must: row.must ?? '',
    aims: row.aims ?? '',
    ...costs(ours.sample),
  }
}

const costs = ({ cpuMicros, p50, p99, rss } = {}) => ({
  cpu: cpuMicros === undefined ? '' : String(Math.round(cpuMicros)),
  latency: p50 === undefined ? '' : `${ms(p50)} / ${ms(p99)}`,
  rss: rss === undefined ? '' : String(Math.round(rss / MiB)),
})

/** Returns true if the service and its floor were measured. */
export const isMeasured = ({ ratio }) => ratio !== MISSING

/** Returns the table as Markdown. Pads its cells unless `bare`. */
export function table(lines, { columns = COLUMNS, bare = false } = {}) {
  const keys = Object.keys(columns)
  const rows = [columns, Object.fromEntries(keys.map((key) => [key, '---'])), ...lines]
  const cells = rows.map((row) => keys.map((key) => row[key] ?? ''))
  const widths = keys.map((_, n) => (bare ? 0 : Math.max(...cells.map((row) => row[n].length))))
  return cells
    .map((row) => `| ${row.map((cell, n) => cell.padEnd(widths[n])).join(' | ')} |`)
    .join('\n')
}
