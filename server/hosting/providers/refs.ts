/** What a `ref` of each type of provider looks like in one sentence, and the kind of servers that it runs. */
export const refs = {
  hetzner: {
    kind: 'vps',
    pattern: /^[1-9]\d{0,15}$/,
    meaning: 'the number of a server of the project',
  },
  proxmox: {
    kind: 'vps',
    pattern: /^[1-9]\d{2,8}$/,
    meaning: 'the number of a VPS (vmid): 100 to 999999999',
  },
  pterodactyl: {
    kind: 'game',
    pattern: /^[\dA-Fa-f]{8}(?:(?:-[\dA-Fa-f]{4}){3}-[\dA-Fa-f]{12})?$/,
    meaning: 'the identifier of a server in the panel: 8 hexadecimal digits, or the whole UUID',
  },
} as const;
