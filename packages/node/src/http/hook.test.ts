import { RequestRefusal } from '@org/agent-messaging-http-kit'
import { expect, it } from 'vitest'
import { byHook, type Hook } from './hook.js'

const request = new Request('http://host.example/v1/agents')

function hookOf(ask: Hook['ask']) {
  const errors: unknown[] = []
  const hook: Hook = {
    ask,
    limitMs: 1,
    projectId: 'p',
    checkMs: 0,
    now: () => 0,
    onError: (error) => errors.push(error),
    origins: [],
  }
  const authenticate = byHook(hook, () => Promise.reject(new Error('a key was tried')))
  return { errors, caller: () => authenticate(request, { recalls: false }) }
}

it('a hook that does not answer is refused as unavailable, with one line, and aborted', async () => {
  const limits: AbortSignal[] = []
  const { caller, errors } = hookOf(
    (_, limit) =>
      new Promise((_, reject) => {
        limits.push(limit)
        limit.addEventListener('abort', () => reject(limit.reason))
      }),
  )
  const refused = await caller().catch((thrown: unknown) => thrown)
  expect(refused).toBeInstanceOf(RequestRefusal)
  expect(refused).toMatchObject({ kind: 'login_unavailable' })
  expect(limits.map(({ aborted }) => aborted)).toEqual([true])
  expect(errors).toEqual([new Error('authorize has not answered within 1 ms')])
})

it('a stream ends when the hook no longer answers, with one line', async () => {
  const ada = { caller: 'ada', permissions: [], sessions: 'all' }
  const answers: unknown[] = [ada]
  const { caller, errors } = hookOf(async () => answers.pop() ?? new Promise(() => {}))
  const user = await caller()
  expect(await user.recheck()).toEqual({ kind: 'login_unavailable' })
  expect(errors).toHaveLength(1)
})

it('a hook that throws once ends no access, and one that returns less does', async () => {
  const ids = (...of: string[]) => ({ caller: 'ada', permissions: [], sessions: { ids: of } })
  const fault = new Error('the login is away')
  const answers = [ids('a', 'b'), fault, ids('c', 'b', 'a'), ids('a'), ids('a', 'b')]
  const { caller, errors } = hookOf(async () => {
    const answer = answers.shift()
    if (answer instanceof Error) throw answer
    return answer
  })
  const user = await caller()
  expect(await user.recheck()).toEqual({ kind: 'login_unavailable' })
  expect(errors).toEqual([fault])
  expect(await user.recheck()).toBeUndefined()
  expect(await user.recheck()).toEqual({ kind: 'unauthorized' })
  expect(await user.recheck()).toEqual({ kind: 'unauthorized' })
})
