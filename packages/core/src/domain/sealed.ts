/** Text encrypted at rest (AES-256-GCM in `./node`), bound to the row that it belongs to. Only `Crypto.unseal` makes text of it. */
export type Sealed = string & { readonly __sealed: true }
