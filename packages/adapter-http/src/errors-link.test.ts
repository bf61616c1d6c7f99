import { Hono } from 'hono'
import { expect, it } from 'vitest'
import { openScene } from '../test/scene.js'

const linkOf = ({ headers }: { readonly headers: Headers }): string | null => headers.get('link')

it('every error links to its code on the page of the server', async () => {
  const { ask, app } = await openScene()
  const { text: page } = await ask('GET', '/docs')
  for (const [path, key, code] of [
    ['/v1/agents/nobody', undefined, 'NOT_FOUND'],
    ['/v1/agents', 'wrong', 'UNAUTHORIZED'],
    ['/v1/agents?limit=0', undefined, 'BAD_REQUEST'],
    ['/nothing', undefined, 'NOT_FOUND'],
  ] as const) {
    const refused = await ask('GET', path, key === undefined ? {} : { key })
    expect(linkOf(refused)).toBe(`</docs#error-${code}>; rel="help"`)
    expect(page).toContain(`id="error-${code}"`)
  }
  const host = new Hono().route('/chat', app)
  expect(linkOf(await host.request('/chat/v1/agents'))).toBe(
    '</chat/docs#error-UNAUTHORIZED>; rel="help"',
  )
})

it('an error links to the base path of the host', async () => {
  const { ask } = await openScene({ http: { basePath: '/messaging' } })
  expect(linkOf(await ask('GET', '/v1/agents/nobody'))).toBe(
    '</messaging/docs#error-NOT_FOUND>; rel="help"',
  )
})
