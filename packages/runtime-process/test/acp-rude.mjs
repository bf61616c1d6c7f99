// A program that violates the Agent Client Protocol. Its argument names the violation.
import { createInterface } from 'node:readline'

const answer = (id, result) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)

const behaviours = {
  /** Writes nothing to stdout. */
  silent: () => process.stderr.write(`pid ${process.pid}\n`),
  garbage: () => process.stdout.write('Welcome!\n\u0000\u0001\n'),
  'no-answer': ({ id }) => answer(id, 'pleased to meet you'),
  'other-version': ({ id }) => answer(id, { protocolVersion: 99, agentCapabilities: {} }),
  'hangs-up': () => process.stdout.end(),
  /** Writes one endless line. */
  endless() {
    const more = () => process.stdout.write('z'.repeat(1024 * 1024), more)
    more()
  },
  leaves() {
    process.stderr.write('no licence found\n')
    process.exit(4)
  },
  /** Behaves well, but ignores SIGTERM. */
  stubborn({ id }) {
    process.on('SIGTERM', () => process.stderr.write('never\n'))
    setInterval(() => undefined, 60_000)
    answer(id, { protocolVersion: 1 })
    process.stderr.write(`pid ${process.pid}\n`)
  },
}

const behave = behaviours[process.argv[2]]
createInterface({ input: process.stdin }).on('line', (line) => behave(JSON.parse(line)))
