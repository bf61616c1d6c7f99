import { expect, it } from 'vitest'
import type { Agent, AgentState } from '../domain/agents/agent.js'
import { decideStep, type LocalAgent, type Step } from './decide-step.js'

const NOW = 1_000
const DESIRED: readonly Agent['desiredState'][] = ['running', 'stopped']
const RUNTIMES: readonly LocalAgent['runtime'][] = ['available', 'other options', 'unknown']
const BOOLEANS = [true, false]

const inError = (code: 'RUNTIME_EXITED' | 'RUNTIME_UNHEALTHY', retryAt?: number): AgentState => ({
  kind: 'error',
  lastError: { code, message: 'no' },
  failures: 1,
  ...(retryAt !== undefined && { retryAt }),
})
const STATES: Record<string, AgentState> = {
  stopped: { kind: 'stopped' },
  starting: { kind: 'starting' },
  running: { kind: 'running', startedAt: 0 },
  stopping: { kind: 'stopping' },
  'failed, retry due': inError('RUNTIME_EXITED', NOW),
  'failed, retry later': inError('RUNTIME_EXITED', NOW + 1),
  'failed, no retry': inError('RUNTIME_EXITED'),
  'unhealthy, retry due': inError('RUNTIME_UNHEALTHY', NOW),
  'unhealthy, retry later': inError('RUNTIME_UNHEALTHY', NOW + 1),
  'unhealthy, no retry': inError('RUNTIME_UNHEALTHY'),
}

/**
 * The columns: desired state, state, hosted here, runtime, state inherited, process alone, step.
 */
const ANY = '*'
type Row = [string, string | RegExp, boolean | '*', string, boolean | '*', boolean | '*', Step]
const ROWS: Row[] = [
  ['stopped', 'stopped', ANY, ANY, ANY, ANY, 'forget'],
  ['stopped', 'starting', ANY, ANY, ANY, ANY, 'cancel start'],
  ['stopped', 'running', ANY, ANY, ANY, ANY, 'begin stop'],
  ['stopped', 'stopping', ANY, ANY, ANY, ANY, 'finish stop'],
  ['stopped', /failed|unhealthy/, ANY, ANY, ANY, ANY, 'finish stop'],

  ['running', 'stopped', ANY, ANY, ANY, ANY, 'begin start'],
  ['running', 'starting', ANY, 'available', ANY, ANY, 'bring up'],
  ['running', 'starting', ANY, 'other options', ANY, ANY, 'bring up'],
  ['running', 'starting', ANY, 'unknown', ANY, ANY, 'none'],
  ['running', 'running', ANY, 'available', ANY, ANY, 'bring up'],
  ['running', 'running', ANY, 'other options', true, true, 'bring up'],
  ['running', 'running', ANY, 'other options', true, false, 'none'],
  ['running', 'running', ANY, 'other options', false, ANY, 'none'],
  ['running', 'running', ANY, 'unknown', ANY, ANY, 'none'],
  ['running', 'stopping', true, ANY, ANY, ANY, 'cancel stop'],
  ['running', 'stopping', false, ANY, ANY, ANY, 'finish stop'],

  ['running', 'failed, retry due', ANY, 'available', ANY, ANY, 'retry'],
  ['running', 'failed, retry later', ANY, 'available', true, ANY, 'retry'],
  ['running', 'failed, retry later', ANY, 'available', false, ANY, 'close'],
  ['running', 'failed, no retry', ANY, 'available', ANY, ANY, 'close'],
  ['running', /^failed/, ANY, 'other options', ANY, ANY, 'close'],
  ['running', /^failed/, ANY, 'unknown', ANY, ANY, 'close'],

  ['running', 'unhealthy, retry due', ANY, 'available', ANY, ANY, 'recover'],
  ['running', 'unhealthy, retry due', ANY, 'other options', ANY, ANY, 'recover'],
  ['running', 'unhealthy, retry due', ANY, 'unknown', ANY, ANY, 'suspend'],
  ['running', 'unhealthy, retry later', ANY, ANY, ANY, ANY, 'suspend'],
  ['running', 'unhealthy, no retry', ANY, ANY, ANY, ANY, 'suspend'],
]

const matches = (cell: string | boolean | RegExp, value: string | boolean): boolean =>
  cell === ANY || (cell instanceof RegExp ? cell.test(String(value)) : cell === value)

const COMBINATIONS = DESIRED.flatMap((desired) =>
  Object.keys(STATES).flatMap((state) =>
    BOOLEANS.flatMap((isHosted) =>
      RUNTIMES.flatMap((runtime) =>
        BOOLEANS.flatMap((isInherited) =>
          BOOLEANS.map((isAlone) => ({
            desired,
            state,
            local: { isHosted, runtime, isInherited, isAlone },
          })),
        ),
      ),
    ),
  ),
)

it.each(ROWS)(
  'desired %s, state %s, hosted %s, runtime %s, inherited %s, alone %s: %s',
  (...row) => {
    const rows = COMBINATIONS.filter((combination) => isInRow(row, combination))
    expect(rows).not.toEqual([])
    for (const { desired, state, local } of rows)
      expect(decideStep(desired, STATES[state] as AgentState, local, NOW)).toBe(row.at(-1))
  },
)

it('each combination is in exactly one row', () => {
  const rowsOf = (combination: (typeof COMBINATIONS)[number]) =>
    ROWS.filter((row) => isInRow(row, combination))
  expect(COMBINATIONS.filter((combination) => rowsOf(combination).length !== 1)).toEqual([])
})

function isInRow(row: Row, { desired, state, local }: (typeof COMBINATIONS)[number]): boolean {
  const values = [desired, state, local.isHosted, local.runtime, local.isInherited, local.isAlone]
  return values.every((value, at) => matches(row[at] as string, value))
}
