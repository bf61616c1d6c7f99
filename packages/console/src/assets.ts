import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { newRoutes, BASE } from './context.js'
import type { PortalLook } from '@org/agent-messaging-http-kit'

// Found by the name of this package, so that a bundle of the server finds the files too.
const manifest = createRequire(import.meta.url).resolve('@org/agent-messaging-console/package.json')
const readAsset = (name: string) =>
  readFileSync(path.join(path.dirname(manifest), 'assets', name), 'utf8')

type File = { readonly type: string; readonly body: string | Uint8Array<ArrayBuffer> }

const digestOf = ({ body }: File) =>
  createHash('sha256').update(body).digest('base64url').slice(0, 12)

/**
 * Files that are public and contain no data, with their addresses. New contents get a new address,
 * so browsers can keep the files forever.
 */
const filesIn = (folder: string, files: Readonly<Record<string, File>>) => ({
  urls: Object.fromEntries(
    Object.entries(files).map(([name, file]) => [
      name,
      `${BASE}/${folder}/${name}?v=${digestOf(file)}`,
    ]),
  ),
  routes: newRoutes().get(`/${folder}/:name`, (c) => {
    const file = Object.hasOwn(files, c.req.param('name')) ? files[c.req.param('name')] : undefined
    if (!file) return c.notFound()
    c.header('Content-Type', file.type)
    c.header('Cache-Control', 'public, max-age=31536000, immutable')
    return c.body(file.body)
  }),
})

const CSS = 'text/css; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'

/** The files that all pages load. */
export const assets = filesIn('assets', {
  'console.css': { type: CSS, body: readAsset('console.css') },
  'console.js': { type: SCRIPT, body: readAsset('console.js') },
  'htmx.js': {
    type: SCRIPT,
    body: readFileSync(createRequire(manifest).resolve('htmx.org/dist/htmx.min.js'), 'utf8'),
  },
  'icon.svg': { type: 'image/svg+xml; charset=utf-8', body: readAsset('icon.svg') },
})

/** The files of the look that customers see. */
export const filesOfLook = ({ logo, accent }: PortalLook) =>
  filesIn('portal', {
    ...(logo && { logo: { type: logo.type, body: logo.bytes } }),
    ...(accent && { 'style.css': { type: CSS, body: styleOf(accent) } }),
  })

const styleOf = ({ light, dark }: { readonly light: string; readonly dark: string }) =>
  `:root {
  --accent: light-dark(${light}, ${dark});
  --accent-soft: color-mix(in srgb, var(--accent) 12%, var(--card));
}
`
