import { Hono } from 'hono'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openScene, type Answer, type Scene } from '../../test/scene.js'
import { eventSchemas } from '../wire/event.js'

let scene: Scene
let page: Answer
beforeAll(async () => {
  scene = await openScene()
  page = await scene.ask('GET', '/docs', { key: '' })
})

describe('the API reference', () => {
  it('has no scripts and loads nothing from other hosts', async () => {
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ])
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'self';/,
    )
    expect(page.text).not.toMatch(
      /<script|<style|\son\w+=|\sstyle=|src=|https?:\/\/(?!json-schema)[^\s"'<]*"/,
    )
    const style = await scene.ask('GET', '/docs/style.css', { key: '' })
    expect([style.status, style.headers.get('content-type')]).toEqual([
      200,
      'text/css; charset=utf-8',
    ])
    expect(style.text).not.toMatch(/url\(|@import/)
  })

  it('shows every operation, event and schema of the document', async () => {
    const { json: document } = await scene.ask('GET', '/openapi.json')
    const items = [
      ...Object.values<object>(document.paths),
      ...Object.values<object>(document.webhooks),
    ]
    const operations = items.flatMap((item) => Object.values(item)) as { operationId: string }[]
    const ids = [
      ...operations.map(({ operationId }) => operationId),
      ...Object.keys(document.components.schemas).map((name) => `schema-${name}`),
    ]
    expect(ids.length).toBeGreaterThan(60)
    expect(ids.filter((id) => !page.text.includes(`id="${id}"`))).toEqual([])
  })

  it('has no broken link and no duplicate id', () => {
    const ids = [...page.text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id)
    const links = [...page.text.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id)
    expect(links.filter((id) => !ids.includes(id))).toEqual([])
    expect(new Set(ids).size).toBe(ids.length)
    expect(page.text).not.toMatch(/undefined|\[object/)
  })

  it('links to its style and source under any path', async () => {
    const host = new Hono().route('/messaging', scene.app as unknown as Hono)
    const text = await (await host.request('/messaging/docs')).text()
    for (const link of ['docs/style.css', 'openapi.json']) {
      expect(text).toContain(`href="${link}"`)
      expect(
        (await host.request(new URL(link, 'http://localhost/messaging/docs').pathname)).status,
      ).toBe(200)
    }
  })
})

describe('a caller with a copy', () => {
  it.each(['/docs', '/docs/style.css', '/openapi.json', '/schemas/events/agent.error.json'])(
    'gets a 304 for %s',
    async (path) => {
      const first = await scene.ask('GET', path, { key: '' })
      const tag = first.headers.get('etag') ?? ''
      expect([first.status, first.headers.get('cache-control')]).toEqual([200, 'no-cache'])
      for (const known of [tag, `W/${tag}`, `"other", ${tag}`]) {
        const again = await scene.ask('GET', path, { key: '', headers: { 'If-None-Match': known } })
        expect([
          again.status,
          again.text,
          again.headers.get('etag'),
          again.headers.get('cache-control'),
        ]).toEqual([304, '', tag, 'no-cache'])
        expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
      }
      const other = await scene.ask('GET', path, {
        key: '',
        headers: { 'If-None-Match': '"other"' },
      })
      expect([other.status, other.text]).toEqual([200, first.text])
    },
  )

  it('gets another document under another path', async () => {
    const host = new Hono().route('/messaging', scene.app as unknown as Hono)
    const tags = [
      await host.request('/messaging/openapi.json'),
      await scene.app.request('/openapi.json'),
    ].map(({ headers }) => headers.get('etag'))
    expect(new Set(tags).size).toBe(2)
  })
})

describe('the JSON Schema of an event', () => {
  it.each(eventSchemas)(
    '$name is self-contained, and accepts the example',
    async ({ name, schema }) => {
      const { status, headers, text } = await scene.ask('GET', `/schemas/events/${name}.json`, {
        key: '',
      })
      expect([status, headers.get('content-type')]).toEqual([200, 'application/schema+json'])
      const written = JSON.parse(text) as { title: string; $defs: object }
      expect(written.title).toBe(name)
      const parsed = z.fromJSONSchema(written as never, { registry: z.registry() })
      for (const example of (schema.meta()?.['examples'] ?? []) as object[]) {
        expect(parsed.safeParse(example).error).toBeUndefined()
        expect(parsed.safeParse({ ...example, event: 'other' }).success).toBe(false)
        expect(parsed.safeParse({ ...example, data: {} }).success).toBe(false)
      }
      const refs = [...text.matchAll(/"#\/\$defs\/(\w+)"/g)].map(([, id]) => id)
      expect(refs.filter((id) => !Object.keys(written.$defs).includes(id ?? ''))).toEqual([])
    },
  )

  it('does not exist for an unknown event', async () => {
    for (const file of ['message.lost.json', 'toString.json'])
      expect((await scene.ask('GET', `/schemas/events/${file}`)).status).toBe(404)
  })
})
