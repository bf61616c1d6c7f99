import { MiB, ms } from './rows/figures.mjs'

const HEADINGS = [
  'row',
  'what',
  'ours',
  'floor',
  'limit',
  'peers',
  'ratio',
  'must',
  'aims at',
  'CPU µs each',
  'p50 / p99 ms',
  'RSS MiB',
]

/** Returns a line of the table. Each contender has its medians, or a reason if they are missing. */
export function line(name, row, { sizes, measured }) {
  const having = (role) => measured.filter((contender) => contender.role === role)
  const [ours] = having('ours')
  const [floor] = having('floor')
  const [limit] = having('limit')
  const peers = having('peer')
  const read = (contender) =>
    contender.missing === undefined ? row.figure(contender.sample) : `– (${contender.missing})`
  const named = (contender) => `${contender.name}: ${read(contender)}`
  const there = [ours, ...(floor ? [floor] : [])].every(({ missing }) => missing === undefined)
  const present = peers
    .filter(({ missing }) => missing === undefined)
    .map((peer) => ({ ...peer.sample, name: peer.name }))
  return [
    name,
    row.measures(sizes),
    read(ours),
    floor ? named(floor) : '',
    limit ? named(limit) : '',
    peers.map(named).join('; '),
    there ? row.ratio({ ours: ours.sample, floor: floor?.sample, peers: present }) : '–',
    row.must ?? '',
    row.aims ?? '',
    ...costs(ours.sample),
  ]
}

const costs = ({ cpuMicros, p50, p99, rss } = {}) => [
  cpuMicros === undefined ? '' : String(Math.round(cpuMicros)),
  p50 === undefined ? '' : `${ms(p50)} / ${ms(p99)}`,
  rss === undefined ? '' : String(Math.round(rss / MiB)),
]

/** Returns the table as Markdown. Pads its cells unless `bare`. */
export function table(lines, { bare }) {
  const rows = [HEADINGS, HEADINGS.map(() => '---'), ...lines]
  const widths = HEADINGS.map((_, n) => (bare ? 0 : Math.max(...rows.map((row) => row[n].length))))
  return rows
    .map((row) => `| ${row.map((cell, n) => cell.padEnd(widths[n])).join(' | ')} |`)
    .join('\n')
}
