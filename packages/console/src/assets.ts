import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { Hono } from 'hono'
import type { Env } from './context.js'
import { BASE } from './options.js'

// Found by the name of this package, so that a bundle of the server finds the files too.
const manifest = createRequire(import.meta.url).resolve('@org/agent-messaging-console/package.json')
const readAsset = (name: string) =>
  readFileSync(path.join(path.dirname(manifest), 'assets', name), 'utf8')

type Asset = { readonly type: string; readonly text: string }

const assets: Readonly<Record<string, Asset>> = {
  'console.css': { type: 'text/css', text: readAsset('console.css') },
  'console.js': { type: 'text/javascript', text: readAsset('console.js') },
  'htmx.js': {
    type: 'text/javascript',
    text: readFileSync(createRequire(manifest).resolve('htmx.org/dist/htmx.min.js'), 'utf8'),
  },
  'icon.svg': { type: 'image/svg+xml', text: readAsset('icon.svg') },
}

const digestOf = ({ text }: Asset): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, 12)

/**
 * The address of each asset. New contents get a new address, so browsers can keep assets forever.
 */
export const assetUrl = Object.fromEntries(
  Object.entries(assets).map(([name, asset]) => [
    name,
    `${BASE}/assets/${name}?v=${digestOf(asset)}`,
  ]),
)

/** Serves all files that the pages load. The files are public and contain no data. */
export const assetRoutes = (): Hono<Env> =>
  new Hono<Env>().get('/assets/:name', (c) => {
    const asset = Object.hasOwn(assets, c.req.param('name'))
      ? assets[c.req.param('name')]
      : undefined
    if (!asset) return c.notFound()
    c.header('Content-Type', `${asset.type}; charset=utf-8`)
    c.header('Cache-Control', 'public, max-age=31536000, immutable')
    return c.body(asset.text)
  })
