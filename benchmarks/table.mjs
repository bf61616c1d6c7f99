import { MiB, ms } from './rows/figures.mjs'

const HEADINGS = [
  'row',
  'what',
  'ours',
  'floor',
  'peers',
  'ratio',
  'must',
  'aims at',
  'CPU µs each',
  'p50 / p99 ms',
  'RSS MiB',
]

/** A line of the table: `measured` are the contenders with their medians, or with why there are none. */
export function line(name, row, { sizes, measured }) {
  const having = (role) => measured.filter((contender) => contender.role === role)
  const [[ours], [floor], peers] = [having('ours'), having('floor'), having('peer')]
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

/** As Markdown, and padded to be read as it is unless `bare`. */
export function table(lines, { bare }) {
  const rows = [HEADINGS, HEADINGS.map(() => '---'), ...lines]
  const widths = HEADINGS.map((_, n) => (bare ? 0 : Math.max(...rows.map((row) => row[n].length))))
  return rows
    .map((row) => `| ${row.map((cell, n) => cell.padEnd(widths[n])).join(' | ')} |`)
    .join('\n')
}
