import { describe, expect, it } from 'vitest'
import type { AuditEntry } from './audit.js'
import { auditedChange, changeTexts, NO_ROW, type AuditedRow } from './audited-change.js'

const entry: AuditEntry = {
  ...{ id: 'e', projectId: 'p', actor: { kind: 'host' } },
  ...{ action: 'webhook.updated', targetId: 't', createdAt: 0 },
}
const shown = (after: AuditedRow, before?: AuditedRow) => {
  const { targetName, changes } = auditedChange(entry, after, before)
  return { targetName, changes }
}
const url = 'https://user:pass@crm.example/hook?token=secret'

describe('the name of a target', () => {
  it.each<[string | undefined, AuditedRow]>([
    ['support', { name: 'support' }],
    ['Acme', { title: 'Acme' }],
    ['CRM', { description: 'CRM', url }],
    ['https://crm.example', { url }],
    ['queue:', { url: 'queue:orders' }],
    [undefined, {}],
  ])('is %s', (name, row) => {
    expect(shown(row)).toEqual({ targetName: name, changes: undefined })
  })

  it('is the one before the change', () => {
    expect(shown({ name: 'new' }, { name: 'old' }).targetName).toBe('old')
    expect(shown({ name: 'new' }, NO_ROW).targetName).toBe('new')
  })
})

describe('the values of a change', () => {
  it('are old and new ones of listed fields that differ', () => {
    const before: AuditedRow = {
      ...{ isPaused: false, events: ['*'], ordering: 'none', url, concurrency: 4 },
      status: { kind: 'enabled' },
      sending: { maxConcurrency: 2 },
    }
    const after: AuditedRow = {
      ...before,
      ...{ isPaused: true, events: ['agent.error'], url: 'https://new.example/hook/secret' },
      status: { kind: 'disabled', reason: 'operator', at: 0 },
      sending: { requestsPerSecond: 5 },
    }
    expect(shown(after, before).changes).toEqual({
      paused: { from: false, to: true },
      events: { from: ['*'], to: ['agent.error'] },
      url: { from: 'https://crm.example', to: 'https://new.example' },
      enabled: { from: true, to: false },
      maxConcurrency: { from: 2, to: undefined },
      requestsPerSecond: { from: undefined, to: 5 },
    })
  })

  it('tell a read-only portal link from another one', () => {
    expect(shown({ isReadOnly: true }, NO_ROW).changes).toEqual({ readOnly: { to: true } })
    expect(shown({ isReadOnly: false }, NO_ROW).changes).toBeUndefined()
  })

  it('never contain another field', () => {
    const secrets = { headers: { sealed: 's' }, secret: 's', runtime: { options: { key: 's' } } }
    const after = { ...secrets, filter: { sessionIdPrefix: 'ada' }, name: 'a' } as AuditedRow
    expect(shown(after, NO_ROW)).toEqual({ targetName: 'a', changes: undefined })
    const path = { url: 'https://crm.example/other' }
    expect(shown(path, { url }).changes).toBeUndefined()
  })

  it('are texts for people', () => {
    const changes = {
      paused: { from: false, to: true },
      events: { from: ['a', 'b'], to: ['c'] },
      sendLimits: { to: { project: { burst: 1 } } },
      url: { from: 'https://a.example', to: 'https://b.example' },
    }
    expect(changeTexts({ fields: ['paused', 'url', 'headers'], changes })).toEqual([
      'paused: false → true',
      'url: https://a.example → https://b.example',
      'headers',
      'events: a, b → c',
      'sendLimits: none → {"project":{"burst":1}}',
    ])
    expect(changeTexts({})).toEqual([])
  })
})
