import { aHook, aWebhook } from '@org/agent-messaging-testing'
import { expect, it } from 'vitest'
import type { WebhookEvent } from '../webhooks/event.js'
import { receiverIdOf } from '../webhooks/webhook.js'
import { decideHook, hookGets, sharedReceiver } from './message-hook.js'

it('hooks of one project and origin share a receiver, which keeps no URL and no secret', () => {
  const message = { id: 'm', projectId: 'p' }
  const sealed = 'sealed' as never
  const headers = { names: ['authorization'], sealed }
  const hook = aHook(message, { url: 'https://a.example/x?y=1', secret: sealed, headers })
  const receiver = sharedReceiver(hook)
  expect(receiver).toMatchObject({ id: 'hooks p https://a.example', url: '', secret: '' })
  expect(receiver).not.toHaveProperty('headers')
  expect([hook, receiver].map(receiverIdOf)).toEqual([receiver.id, receiver.id])
  const ids = ['https://a.example:8443/x', 'https://b.example/x'].map((url) =>
    receiverIdOf({ ...hook, url }),
  )
  expect(new Set([...ids, receiver.id, receiverIdOf({ ...hook, projectId: 'q' })]).size).toBe(4)
  const webhook = aWebhook()
  expect(receiverIdOf(webhook)).toBe(webhook.id)
})

it('a hook that was deleted meanwhile is not set again', () => {
  const hook = aHook({ id: 'm', projectId: 'p' }, { id: 'h' })
  const stored = { id: 'h', name: hook.hook.name, isDeleted: false }
  expect(decideHook([stored], hook, 1)).toBe('update')
  expect(decideHook([{ ...stored, isDeleted: true }], hook, 1)).toBe('name_taken')
  expect(decideHook([], hook, 1)).toBe('insert')
})

it('a hook gets the events of its names, and no others', () => {
  const hook = aHook({ id: 'm', projectId: 'p' }, { events: ['message.failed'] })
  const names = ['message.failed', 'message.responded'] as const
  expect(names.map((name) => hookGets(hook, { name } as WebhookEvent))).toEqual([true, false])
})
