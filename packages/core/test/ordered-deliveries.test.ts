import { expect, it } from 'vitest'
import { refused, refusalOf } from '@org/agent-messaging-testing'
import { scene } from './scene.js'

const retry = { delaysMs: [60_000, 600_000], jitter: 0, maxRetryAfterMs: 86_400_000 }

/** A scene with an ordered webhook, whose agent answers with the message. */
async function orderedScene(policy: { readonly pollMs?: number } = {}) {
  const fakes = await scene({
    handler: ({ message }) => ({ kind: 'answered', response: message }),
    policy: { retry, ...policy },
  })
  const { webhook } = await fakes.hook()
  const which = { projectId: fakes.project.id, webhookId: webhook.id }
  await fakes.service.webhooks.update({ ...which, change: { ordering: 'session' } })
  const sent = () =>
    fakes.sender.requests.map(
      ({ body }) => (JSON.parse(body) as { data: { response: string } }).data.response,
    )
  return { ...fakes, which, sent }
}

it('sends the deliveries of a session one after the other, without a poll between them', async () => {
  const { send, sender, clock, sent } = await orderedScene()
  sender.hold()
  for (const text of ['a', 'b', 'c']) await send(text)
  await clock.advance(0)
  expect(sent()).toEqual(['a'])
  sender.release()
  await clock.advance(0)
  expect(sent()).toEqual(['a', 'b', 'c'])
})

it('sends nothing else of a session before the end of its first delivery', async () => {
  const { send, sender, clock, sent } = await orderedScene()
  sender.script(refused(500))
  for (const text of ['a', 'b']) await send(text)
  await send('other', { sessionId: 'another' })
  await clock.advance(59_000)
  expect(sent()).toEqual(['a', 'other'])
  await clock.advance(1_000)
  expect(sent()).toEqual(['a', 'other', 'a', 'b'])
})

it('sends the next delivery when a person skips the first', async () => {
  const { send, sender, clock, sent, service, deliveries, project } = await orderedScene()
  sender.script(refused(500))
  for (const text of ['a', 'b']) await send(text)
  await clock.advance(0)
  const [first, second] = (await deliveries()).map(({ delivery }) => delivery)
  expect(second?.state).toEqual({ kind: 'waiting', blockedBy: first?.id })
  const ref = { projectId: project.id, deliveryId: first?.id ?? '' }
  expect((await service.deliveries.skip(ref)).state).toMatchObject({
    kind: 'cancelled',
    reason: 'skipped',
  })
  await clock.advance(0)
  expect(sent()).toEqual(['a', 'b'])
  expect((await refusalOf(service.deliveries.skip(ref))).kind).toBe('delivery_final')
})

it('sends a delivery at once that a person redelivers while it waits', async () => {
  const { send, sender, clock, sent, service, deliveries, project } = await orderedScene()
  sender.script(refused(500))
  for (const text of ['a', 'b']) await send(text)
  await clock.advance(0)
  const [, second] = (await deliveries()).map(({ delivery }) => delivery)
  await service.deliveries.redeliver({ projectId: project.id, deliveryId: second?.id ?? '' })
  await clock.advance(0)
  expect(sent()).toEqual(['a', 'b'])
})

it('sends the next delivery at once when the first is erased with its end user', async () => {
  const { send, sender, clock, sent, service, project } = await orderedScene({ pollMs: 3_600_000 })
  sender.script(refused(500))
  const endUser = (endUserId: string) => ({ executionPrincipal: { type: 'end_user', endUserId } })
  await send('a', endUser('u'))
  await send('b', endUser('v'))
  await clock.advance(0)
  await service.principals.erase({ projectId: project.id, endUserId: 'u' })
  await clock.advance(0)
  expect(sent()).toEqual(['a', 'b'])
})

it('sends all deliveries of a session in one pass', async () => {
  const handler = () => ({ kind: 'answered', response: 'hi' }) as const
  const fakes = await scene({ idle: true, handler })
  const { webhook } = await fakes.hook()
  const which = { projectId: fakes.project.id, webhookId: webhook.id }
  await fakes.service.webhooks.update({ ...which, change: { ordering: 'session' } })
  for (const text of ['a', 'b', 'c']) await fakes.post(text)
  expect(await fakes.service.tick({ budgetMs: 60_000 })).toMatchObject({ deliveries: 3 })
  expect(fakes.sender.requests).toHaveLength(3)
})

it('refuses an unknown ordering', async () => {
  const { service, which } = await orderedScene()
  const change = { ordering: 'agent' as 'session' }
  expect(await refusalOf(service.webhooks.update({ ...which, change }))).toMatchObject({
    kind: 'invalid',
    issues: [{ path: 'ordering' }],
  })
})
