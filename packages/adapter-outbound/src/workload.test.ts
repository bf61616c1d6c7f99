import { failedRun, type RunOutcome } from '@org/agent-messaging-core/runtime'
import { describe, expect, it } from 'vitest'
import { Workload } from './workload.js'

const never = new AbortController().signal
const ended = (cause: string) => AbortSignal.abort(new Error('ended', { cause }))
const late = failedRun('RUNTIME_TIMEOUT', 'late', true)
const forever = new Promise<RunOutcome>(() => undefined)

describe('an agent’s server', () => {
  it('is busy while a run is open', async () => {
    const load = new Workload()
    expect(load.isBusy).toBe(false)
    const run = load.count(Promise.resolve({ kind: 'answered', response: 'Hi' }), never)
    expect(load.isBusy).toBe(true)
    expect(await run).toEqual({ kind: 'answered', response: 'Hi' })
    expect(load.isBusy).toBe(false)
  })

  it.each([
    ['the agent’s timeout', never],
    ['the service’s', ended('timeout')],
  ])('is not busy after a run exceeds %s, until a run is answered', async (_, signal) => {
    const load = new Workload()
    void load.count(forever, never)
    await load.count(Promise.resolve(late), signal)
    expect(load.isBusy).toBe(false)
    await load.count(
      Promise.resolve(failedRun('RUNTIME_ERROR', 'the runtime answered 500', true)),
      never,
    )
    expect(load.isBusy).toBe(false)
    await load.count(Promise.resolve({ kind: 'deferred' }), never)
    expect(load.isBusy).toBe(true)
  })

  it.each(['cancelled', 'drain', 'lost'])('stays busy after a run was %s', async (cause) => {
    const load = new Workload()
    void load.count(forever, never)
    await load.count(Promise.resolve(late), ended(cause))
    expect(load.isBusy).toBe(true)
  })
})
