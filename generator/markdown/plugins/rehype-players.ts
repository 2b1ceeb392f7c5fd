import type { Element, Nodes, Root } from 'hast';
import type { VFile } from 'vfile';
import { isOwnMedia } from './rehype-links.ts';
import { walk } from './walk.ts';

/**
 * Keeps only videos and sounds that are files in content/media/: others could track readers, and may vanish. It runs after the
 * sanitiser and before the links are rewritten.
 */
export function rehypePlayers() {
  return (tree: Root, file: VFile): void => {
    const sitePath = file.data.sitePath ?? '/';
    const removeForeign = ({ properties }: Element, ...names: readonly string[]): void => {
      for (const name of names) {
        const url = properties[name];
        if (typeof url !== 'string' || !isOwnMedia(url, sitePath)) delete properties[name];
      }
    };
    walk(tree, (parent) => {
      if (isElement(parent, 'source')) removeForeign(parent, 'src');
      if (parent.type !== 'root' && parent.type !== 'element') return;
      const children: readonly Nodes[] = parent.children;
      const players = children.filter(isPlayer);
      if (players.length === 0) return;
      for (const player of players) {
        removeForeign(player, 'src', 'poster');
        for (const child of player.children) if (isElement(child, 'source')) removeForeign(child, 'src');
        player.children = player.children.filter((child) => !isElement(child, 'source') || hasSource(child));
      }
      const kept = children.filter((node) => !isPlayer(node) || hasSource(node) || node.children.some(hasSource));
      parent.children = kept as typeof parent.children;
    });
  };
}

function isElement(node: Nodes, name: string): node is Element {
  return node.type === 'element' && node.tagName === name;
}

function isPlayer(node: Nodes): node is Element {
  return isElement(node, 'video') || isElement(node, 'audio');
}

/** Whether an element that may play something has a file to play. */
function hasSource(node: Nodes): boolean {
  return (isElement(node, 'source') || isPlayer(node)) && node.properties.src !== undefined;
}
